#include "core/order/io_chain.hpp"

#include <cstddef>
#include <unordered_map>
#include <utility>

namespace omnio::order {

std::vector<std::int64_t> ThreadChain::words() const {
  std::vector<std::int64_t> words = words_;
  words.push_back(since_ns_);
  return words;
}

ThreadChain ThreadChain::ofWords(std::vector<std::int64_t> words) {
  ThreadChain chain;
  if (words.empty()) return chain;
  chain.since_ns_ = words.back();
  words.pop_back();
  chain.words_ = std::move(words);
  return chain;
}

// Threads go on as far as they can, one at a time. Each step is taken once.
class LongestPath {
 public:
  explicit LongestPath(std::span<const ThreadChain> threads) : threads_(threads.size()) {
    for (std::size_t i = 0; i < threads.size(); ++i) {
      threads_[i].chain = &threads[i];
      for (std::size_t at = 0; at < threads[i].words_.size();) {
        const Step step = stepAt(threads[i], at);
        if (step.kind != ThreadChain::Kind::kAfter) ++joints_[step.key].missing;
        at += step.words;
      }
    }
  }

  std::int64_t length() {
    for (std::size_t i = 0; i < threads_.size(); ++i) ready_.push_back(i);
    run();
    // Only steps that wait in a circle are left.
    for (const Thread& thread : threads_) {
      while (!isAtEnd(thread)) {
        Joint& joint = joints_[stepAt(*thread.chain, thread.at).key];
        joint.missing = 0;
        release(joint);
        run();
      }
    }
    std::int64_t longest = 0;
    for (const Thread& thread : threads_) {
      longest = std::max(longest, thread.ns + thread.chain->since_ns_);
    }
    return longest;
  }

 private:
  // An event, or a call in which ranks meet.
  struct Joint {
    std::uint32_t missing = 0;  // threads that still have to come to it
    std::int64_t ns = 0;        // the longest path to it
    std::int64_t last_ns = INT64_MIN;
    std::vector<std::size_t> waiting;
  };
  struct Step {
    ThreadChain::Kind kind;
    std::uint64_t key = 0;
    std::int64_t before_ns = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::size_t words = 2;
  };
  struct Thread {
    const ThreadChain* chain = nullptr;
    std::size_t at = 0;
    std::int64_t ns = 0;    // the longest path to here
    bool has_come = false;  // to the step: it waits there
  };

  static Step stepAt(const ThreadChain& chain, std::size_t at) {
    const auto word = static_cast<std::uint64_t>(chain.words_[at]);
    Step step{.kind = ThreadChain::Kind(word & ((1U << ThreadChain::kKindBits) - 1)),
              .before_ns = chain.words_[at + 1]};
    step.key = word >> ThreadChain::kKindBits << 1;
    if (step.kind == ThreadChain::Kind::kMet) {
      step.key |= 1;
      step.start_ns = chain.words_[at + 2];
      step.end_ns = chain.words_[at + 3];
      step.words = 4;
    }
    return step;
  }

  static bool isAtEnd(const Thread& thread) { return thread.at >= thread.chain->words_.size(); }

  void run() {
    while (!ready_.empty()) {
      const std::size_t thread = ready_.back();
      ready_.pop_back();
      while (!isAtEnd(threads_[thread]) && step(thread)) continue;
    }
  }

  // False where the thread has to wait.
  bool step(std::size_t number) {
    Thread& thread = threads_[number];
    const Step step = stepAt(*thread.chain, thread.at);
    Joint& joint = joints_[step.key];
    if (!std::exchange(thread.has_come, true)) {
      thread.ns += step.before_ns;
      if (step.kind != ThreadChain::Kind::kAfter) {
        joint.ns = std::max(joint.ns, thread.ns);
        joint.last_ns = std::max(joint.last_ns, step.start_ns);
        if (joint.missing > 0 && --joint.missing == 0) release(joint);
      }
    }
    if (step.kind != ThreadChain::Kind::kEnded) {
      if (joint.missing > 0) {
        joint.waiting.push_back(number);
        return false;
      }
      thread.ns = std::max(thread.ns, joint.ns);
      if (step.kind == ThreadChain::Kind::kMet) {
        thread.ns +=
            std::max<std::int64_t>(step.end_ns - std::max(step.start_ns, joint.last_ns), 0);
      }
    }
    thread.at += step.words;
    thread.has_come = false;
    return true;
  }

  void release(Joint& joint) {
    ready_.insert(ready_.end(), joint.waiting.begin(), joint.waiting.end());
    joint.waiting.clear();
  }

  std::vector<Thread> threads_;
  std::unordered_map<std::uint64_t, Joint> joints_;
  std::vector<std::size_t> ready_;
};

std::int64_t longestChain(std::span<const ThreadChain> threads) {
  return LongestPath(threads).length();
}

}  // namespace omnio::order
