// The chain: the longest path through the I/O of all ranks, in ns. A path follows the calls of a
// thread, and may go on in another thread where that one waited for the first: for a message, for a
// file or a name, for a thread, or in a collective call of MPI-IO. Its length is the I/O time on it
// (core/event/io_time.hpp). Where ranks write one after another, each of them has little I/O time,
// and the chain is the sum of theirs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace omnio::order {

// Holds what the chain needs to know of one thread. Its calls and steps are added in their order.
// A step takes 16 bytes, a collective call 32; other calls cost no memory.
class ThreadChain {
 public:
  static constexpr std::size_t kMostWords = std::size_t{1} << 22;  // 32 MiB

  explicit ThreadChain(std::size_t most_words = kMostWords) : most_words_(most_words) {}
  // False where there were more steps than it holds.
  bool isWhole() const { return is_whole_; }

  // A call on a file. Time that an earlier call covers does not count again.
  void call(std::int64_t start_ns, std::int64_t end_ns) {
    const std::int64_t from = std::max(start_ns, covered_ns_);
    if (end_ns <= from) return;
    since_ns_ += end_ns - from;
    covered_ns_ = end_ns;
  }
  // The next call comes after the event, of any thread, of this number.
  void after(std::uint64_t event) { add(Kind::kAfter, event); }
  // All before this is the event of this number.
  void ended(std::uint64_t event) { add(Kind::kEnded, event); }
  // A call in which the rank met the others of a group, after `before` such calls of that group:
  // the I/O begins when the last of those has come that came before the rank left. Below 2^29
  // groups. A thread takes part in a call once.
  void met(std::uint32_t group, std::uint32_t before, std::int64_t start_ns, std::int64_t end_ns) {
    if (!add(Kind::kMet, std::uint64_t{group} << 32 | before)) return;
    words_.push_back(std::min(std::max(start_ns, covered_ns_), end_ns));
    words_.push_back(end_ns);
    covered_ns_ = std::max(covered_ns_, end_ns);
  }

  // For messages between processes.
  std::vector<std::int64_t> words() const;
  static ThreadChain ofWords(std::vector<std::int64_t> words);

 private:
  friend class LongestPath;
  enum class Kind : std::uint8_t { kAfter, kEnded, kMet };
  static constexpr int kKindBits = 2;

  bool add(Kind kind, std::uint64_t number) {
    if (words_.size() >= most_words_) is_whole_ = false;
    if (!is_whole_) return false;
    words_.push_back(static_cast<std::int64_t>(number << kKindBits | static_cast<unsigned>(kind)));
    words_.push_back(since_ns_);
    since_ns_ = 0;
    return true;
  }

  // By step: its number and kind, the I/O time since the step before; of a meeting, its start and
  // end.
  std::vector<std::int64_t> words_;
  std::size_t most_words_ = kMostWords;
  bool is_whole_ = true;
  std::int64_t since_ns_ = 0;  // I/O time since the last step
  std::int64_t covered_ns_ = INT64_MIN;
};

// Events that no thread has are taken to have ended at once. Where steps wait for each other in a
// circle, the first thread of them does not wait.
std::int64_t longestChain(std::span<const ThreadChain> threads);

}  // namespace omnio::order
