#include "core/order/io_chain.hpp"

#include <cstddef>
#include <functional>
#include <queue>
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
    for (std::uint32_t i = 0; i < threads.size(); ++i) {
      threads_[i].chain = &threads[i];
      ready_.push_back(i);
      for (std::size_t at = 0; at < threads[i].words_.size();) {
        const Step step = stepAt(threads[i], at);
        if (step.kind == ThreadChain::Kind::kEnded) events_[step.number].is_missing = true;
        if (step.kind == ThreadChain::Kind::kMet) {
          meetings_[step.number].arrivals.push_back({.start_ns = step.start_ns, .thread = i});
        }
        at += step.words;
      }
    }
    for (auto& [number, meeting] : meetings_) std::ranges::sort(meeting.arrivals, {}, keyOf);
  }

  std::int64_t length() {
    run();
    // Only steps that wait in a circle are left: the first of them does not wait.
    for (Thread& thread : threads_) {
      while (!isAtEnd(thread)) {
        thread.waits_no_longer = true;
        ready_.push_back(static_cast<std::uint32_t>(&thread - threads_.data()));
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
  struct Event {
    bool is_missing = false;  // it has not ended yet
    std::int64_t ns = 0;      // the longest path to its end
    std::vector<std::uint32_t> waiting{};
  };
  struct Arrival {
    std::int64_t start_ns = 0;
    std::uint32_t thread = 0;
    bool has_come = false;
    // The longest path to it; among the first `come`, to any arrival up to this one.
    std::int64_t ns = 0;
  };
  // A call in which ranks meet. A rank may leave it before others have come: these it has not
  // waited for.
  struct Meeting {
    std::vector<Arrival> arrivals{};  // by start
    std::size_t come = 0;             // of the first arrivals, without a gap
    // Those who wait until so many have come, the one with least first.
    std::priority_queue<std::pair<std::size_t, std::uint32_t>,
                        std::vector<std::pair<std::size_t, std::uint32_t>>, std::greater<>>
        waiting{};
  };
  struct Step {
    ThreadChain::Kind kind;
    std::uint64_t number = 0;
    std::int64_t before_ns = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::size_t words = 2;
  };
  struct Thread {
    const ThreadChain* chain = nullptr;
    std::size_t at = 0;
    std::int64_t ns = 0;    // the longest path to here
    bool has_come = false;  // to the step
    bool waits_no_longer = false;
  };

  static std::pair<std::int64_t, std::uint32_t> keyOf(const Arrival& arrival) {
    return {arrival.start_ns, arrival.thread};
  }

  static Step stepAt(const ThreadChain& chain, std::size_t at) {
    const auto word = static_cast<std::uint64_t>(chain.words_[at]);
    Step step{.kind = ThreadChain::Kind(word & ((1U << ThreadChain::kKindBits) - 1)),
              .number = word >> ThreadChain::kKindBits,
              .before_ns = chain.words_[at + 1]};
    if (step.kind == ThreadChain::Kind::kMet) {
      step.start_ns = chain.words_[at + 2];
      step.end_ns = chain.words_[at + 3];
      step.words = 4;
    }
    return step;
  }

  static bool isAtEnd(const Thread& thread) { return thread.at >= thread.chain->words_.size(); }

  void run() {
    while (!ready_.empty()) {
      const std::uint32_t thread = ready_.back();
      ready_.pop_back();
      while (!isAtEnd(threads_[thread]) && take(thread)) continue;
    }
  }

  // False where the thread has to wait.
  bool take(std::uint32_t number) {
    Thread& thread = threads_[number];
    const Step step = stepAt(*thread.chain, thread.at);
    if (!thread.has_come) thread.ns += step.before_ns;
    const bool goes_on = step.kind == ThreadChain::Kind::kMet     ? meet(number, step)
                         : step.kind == ThreadChain::Kind::kAfter ? follow(number, step)
                                                                  : end(thread, step);
    thread.has_come = !goes_on;
    if (!goes_on) return false;
    thread.waits_no_longer = false;
    thread.at += step.words;
    return true;
  }

  bool end(const Thread& thread, const Step& step) {
    Event& event = events_[step.number];
    event.is_missing = false;
    event.ns = thread.ns;
    ready_.insert(ready_.end(), event.waiting.begin(), event.waiting.end());
    event.waiting.clear();
    return true;
  }

  bool follow(std::uint32_t number, const Step& step) {
    Thread& thread = threads_[number];
    Event& event = events_[step.number];
    if (event.is_missing && !thread.waits_no_longer) {
      if (!thread.has_come) event.waiting.push_back(number);
      return false;
    }
    thread.ns = std::max(thread.ns, event.ns);
    return true;
  }

  bool meet(std::uint32_t number, const Step& step) {
    Thread& thread = threads_[number];
    Meeting& meeting = meetings_[step.number];
    auto& arrivals = meeting.arrivals;
    // Those who came before it left.
    const auto end = std::ranges::upper_bound(arrivals, step.end_ns, {}, &Arrival::start_ns);
    const auto needed = static_cast<std::size_t>(end - arrivals.begin());
    if (!thread.has_come) {
      Arrival& own =
          *std::ranges::lower_bound(arrivals, std::pair(step.start_ns, number), {}, keyOf);
      own.has_come = true;
      own.ns = thread.ns;
      advance(meeting);
    }
    if (meeting.come < needed && !thread.waits_no_longer) {
      if (!thread.has_come) meeting.waiting.emplace(needed, number);
      return false;
    }
    const std::size_t known = std::min(needed, meeting.come);
    if (known > 0) thread.ns = std::max(thread.ns, arrivals[known - 1].ns);
    const std::int64_t last_ns = std::max(step.start_ns, arrivals[needed - 1].start_ns);
    thread.ns += std::max<std::int64_t>(step.end_ns - last_ns, 0);
    return true;
  }

  void advance(Meeting& meeting) {
    auto& arrivals = meeting.arrivals;
    for (; meeting.come < arrivals.size() && arrivals[meeting.come].has_come; ++meeting.come) {
      if (meeting.come == 0) continue;
      Arrival& arrival = arrivals[meeting.come];
      arrival.ns = std::max(arrival.ns, arrivals[meeting.come - 1].ns);
    }
    while (!meeting.waiting.empty() && meeting.waiting.top().first <= meeting.come) {
      ready_.push_back(meeting.waiting.top().second);
      meeting.waiting.pop();
    }
  }

  std::vector<Thread> threads_;
  std::unordered_map<std::uint64_t, Event> events_;
  std::unordered_map<std::uint64_t, Meeting> meetings_;
  std::vector<std::uint32_t> ready_;
};

std::int64_t longestChain(std::span<const ThreadChain> threads) {
  return LongestPath(threads).length();
}

}  // namespace omnio::order
