// What is worth fetching for the threads of one process, while it runs or from a trace of it.
//
// Two models learn the operations (predict/operations/process_predictor.hpp, a grammar of contexts
// after Dorier et al.; core/pattern/access, the patterns of Tang et al. in each file), and each
// says what comes next. Of each file the one is followed that was right more often of late, and
// none that is not trusted (prefetch/trust.hpp).
//
// Not wanted are reads of 1 KiB or less, after Tang et al., and what the kernel reads ahead by
// itself: bytes behind those that are read, from the second window on.
//
// Memory: that of ProcessPredictor, and of AccessPatterns for the files that were read last, at
// most kMostStreams of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/pattern/access/access_patterns.hpp"
#include "predict/operations/process_predictor.hpp"
#include "prefetch/trust.hpp"

namespace omnio::prefetch {

// Requests are told apart by what made them.
struct StreamKey {
  std::uint32_t thread = 0;
  predict::Slot slot = 0;
  bool is_pattern = false;  // by AccessPatterns
  bool operator==(const StreamKey&) const = default;
};

struct Wanted {
  StreamKey stream = {};
  event::FileId file = event::kNoFile;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::optional<double> until_ns = {};  // the begin of the read, from the end of the last operation
};

class Planner {
 public:
  // Reads that are looked ahead, in operations of the thread, and in time.
  static constexpr std::size_t kMostAhead = 16;
  static constexpr std::size_t kPlansAhead = 4;  // a plan is made anew when a part of it is over
  static constexpr std::int64_t kLeastBytes = 1024;  // a read has to be longer
  static constexpr std::size_t kMostStreams = 16;
  // Threads whose end is not seen; of more, the one that did nothing for longest is forgotten.
  static constexpr std::size_t kMostThreads = 4096;
  // What the kernel reads ahead of a reader that goes straight on, at the begin.
  static constexpr std::int64_t kReadAheadBytes = std::int64_t{128} << 10;

  explicit Planner(std::size_t ahead = kMostAhead) : ahead_(ahead) {}

  void goOnWith(predict::ProcessModels models, std::map<std::uint32_t, std::size_t> threads);
  predict::ProcessPredictor& predictor() { return predictor_; }

  void take(std::uint32_t thread, const predict::Operation& operation);
  // After what was taken: in the order in which the thread will read them. Nothing where the last
  // operation was none that anything is known behind.
  const std::vector<Wanted>& plan(std::uint32_t thread);
  // A request of that stream was used, or wasted.
  void ended(const StreamKey& stream, bool was_used);
  // Of the thread whose operation was taken last: whether a plan would say nothing new, since it
  // does what was expected and has most of its last plan before it, or since nothing that it reads
  // is trusted.
  bool needsNoPlan() const {
    return state_ != nullptr && (state_->left > 0 || !state_->is_trusted);
  }
  // The time from the end of that operation to the begin of the next one, as expected; and to that
  // of the one at which a new plan is due.
  struct Until {
    double next_ns = 0;
    double plan_ns = 0;
  };
  std::optional<Until> until() const;

 private:
  struct Said {
    std::int64_t offset = -1;
    std::int64_t bytes = 0;
  };
  // The reads of a thread in the file of a slot.
  struct Stream {
    pattern::access::AccessPatterns patterns;
    Trust by_grammar;
    Trust by_pattern;
    Said grammar_said;
    Said pattern_said;
    std::int64_t end = -1;      // of the last read
    std::int64_t in_a_row = 0;  // bytes read without a gap, up to there
    event::FileId file = event::kNoFile;
    std::uint64_t used = 0;
  };
  static std::uint64_t keyOf(std::uint32_t thread, predict::Slot slot) {
    return std::uint64_t{thread} << 32 | slot;
  }

  Stream& streamOf(std::uint32_t thread, const predict::Operation& operation);
  void forgetOldest(std::uint32_t but);
  void takeRead(std::uint32_t thread, const predict::Operation& operation);
  void planByGrammar(std::uint32_t thread);
  void planByPatterns(std::uint32_t thread);
  void want(const StreamKey& key, const Stream& stream, Wanted wanted);

  std::size_t ahead_;
  predict::ProcessPredictor predictor_;
  std::unordered_map<std::uint64_t, Stream> streams_;
  bool is_known_ = false;  // by models of an earlier run
  std::uint64_t count_ = 0;
  struct Thread {
    std::size_t left = 0;  // operations for which its plan is good, if they come as expected
    std::optional<double> plan_due_ns;       // when these are over, in the clock of operations
    double end_ns = 0;                       // of its last operation
    bool is_trusted = false;                 // what it read last
    std::optional<std::uint64_t> last_read;  // of its last operation, where that was a read
    std::optional<predict::ProcessPredictor::Coming> expected;
  };
  std::map<std::uint32_t, Thread> threads_;
  Thread* state_ = nullptr;  // of the last operation's
  std::vector<predict::ProcessPredictor::Coming> coming_;
  std::vector<Wanted> wanted_;
  // Where the run of bytes without a gap ends while a plan is made, by slot.
  struct Run {
    std::int64_t end = -1;
    std::int64_t bytes = 0;
  };
  std::unordered_map<predict::Slot, Run> runs_;
  std::optional<double> until_next_ns_;
};

}  // namespace omnio::prefetch
