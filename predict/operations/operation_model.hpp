// The model of one thread's operations, after Dorier, Ibrahim, Antoniu and Ross, "Using Formal
// Grammars to Predict I/O Behaviors in HPC: the Omnisc'IO Approach" (TPDS 2016): a grammar of the
// contexts says what comes next; each context predicts its sizes, and each transition from one
// context to the next predicts offsets and the time in between.
//
// Where the grammar expects nothing, or was wrong more often of late, the last context is expected
// to come again.
//
// Memory: memoryBytes() stays below kMostBytes. The grammar has at most kMostSymbols; of contexts,
// transitions and files, those are dropped that were not used for longest. Not for several threads
// at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/integers.hpp"
#include "core/base/moments.hpp"
#include "core/pattern/grammar_predictor.hpp"
#include "predict/operations/contest.hpp"
#include "predict/operations/offset_model.hpp"
#include "predict/operations/operation.hpp"
#include "predict/operations/predictor.hpp"
#include "predict/operations/size_model.hpp"

namespace omnio::predict {

class OperationModel final : public Predictor {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMostSymbols = kMostBytes / 1024;  // of the grammar
  // Of several operations that may come next, those with the largest weights.
  static constexpr std::size_t kMostExpected = 8;

  void take(const Operation& operation) override;
  // The most likely first.
  std::vector<Predicted> next() const override;
  std::vector<Path> following(std::size_t count) const override;
  // The first of these alone, which takes less time; nothing where nothing is expected.
  Path likeliest(std::size_t count) const;
  // The contexts of the path that begins with this one of next().
  std::vector<std::uint64_t> contextsFrom(std::uint64_t first, std::size_t count) const;
  std::optional<std::int64_t> sizeOf(const Operation& operation) const override;
  std::optional<std::int64_t> offsetOf(const Operation& operation) const override;
  // The time from the end of the last operation to the begin of this one. Nothing where the
  // transition is new.
  std::optional<double> gapBefore(const Operation& operation) const;
  static double gapBetween(const Operation& before, const Operation& operation) {
    return static_cast<double>(operation.start_ns - before.end_ns);
  }

  const pattern::StarSequitur& grammar() const { return contexts_sequence_.grammar(); }
  // Of the grammar of contexts, and of those of sizes and offsets.
  std::size_t symbolCount() const { return grammar().symbolCount() + parts_symbols_; }
  std::size_t memoryBytes() const;
  // A run of the program begins, and the sequence of contexts says so: what was learnt in earlier
  // runs is kept, but nothing of where the last one was, in the program and in its files. Memory
  // that is not used is given back.
  void beginRun();
  // What is kept beyond the program, after beginRun(): a model that was read goes on exactly as the
  // one that was written would.
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(contexts_sequence_, expected_, contest_, contexts_, transitions_, new_contexts_,
            new_transitions_, young_transitions_, new_distance_, count_);
    if constexpr (Archive::kReads) countParts();
  }
  // Gives half of its memory back, or what it has beside a small grammar: forgets the oldest part
  // of the sequence, or what was not used for longest, whichever takes more.
  void halve();

 private:
  struct OfContext {
    Kind kind = Kind::kOpen;
    Slot slot = 0;
    SizeModel sizes;
    bool has_offset = false;    // one had
    std::int64_t distance = 0;  // of the last one, from where the one before in the file ended
    double duration = 0;        // expected, ns: T <- (T + new) / 2
    std::uint64_t used = 0;

    template <typename Archive>
    void serialize(Archive& archive) {
      archive(kind, slot, sizes, has_offset, distance, duration, used);
      archive.require(kind <= Kind::kWrite, "an operation is of no kind");
    }
  };
  // Between the end of an operation and the begin of the next one, ns.
  struct Gaps {
    base::Moments moments;
    double expected = 0;  // T <- (T + new) / 2

    template <typename Archive>
    void serialize(Archive& archive) {
      archive(moments, expected);
    }
  };
  struct OfTransition {
    OffsetModel offsets;
    bool has_offsets = false;
    Gaps gaps;
    std::uint64_t used = 0;

    template <typename Archive>
    void serialize(Archive& archive) {
      archive(offsets, has_offsets, gaps, used);
    }
  };
  struct Hash {
    std::size_t operator()(std::uint64_t key) const { return base::finalMix(key); }
  };
  template <typename Value>
  using Table = std::unordered_map<std::uint64_t, Value, Hash>;

  static std::uint64_t transition(std::uint64_t from, std::uint64_t to) {
    return base::mixed(from, to);
  }
  bool believesGrammar() const;
  std::uint64_t lastContext() const { return last_ ? last_->context : 0; }
  // The contexts that may come next, with weights: no more than kMostExpected.
  std::vector<pattern::GrammarPredictor::Expected> expectedContexts() const;
  Predicted predicted(std::uint64_t context, double weight) const;
  // Of an operation of this context: where it is, if its size and the place in its file are these.
  std::int64_t offsetOf(std::uint64_t context, std::int64_t bytes, const FilePlace& place) const;
  void takeOffset(OfTransition& transition, const OfContext& context, const FilePlace& place,
                  std::int64_t expected_bytes, const Operation& operation);
  // Those that follow where this context is next.
  Path path(const pattern::GrammarPredictor::Expected& first, std::size_t count) const;
  // What a path has changed of the models on its way.
  struct AlongPath;
  Predicted along(AlongPath& path, std::uint64_t context) const;
  std::int64_t offsetAlong(AlongPath& path, const OfTransition* transition, std::uint64_t key,
                           const OffsetModel::Known& known) const;
  const OfTransition* findTransition(std::uint64_t key) const {
    const auto found = transitions_.find(key);
    return found == transitions_.end() ? nullptr : &found->second;
  }
  void keepBounds();
  void dropUnused();
  void countParts();

  pattern::GrammarPredictor contexts_sequence_{kMostSymbols};
  std::optional<std::uint64_t> expected_;  // by the grammar
  Contest<2> contest_{1.5F};               // of the grammar, and of the last context
  Table<OfContext> contexts_;
  Table<OfTransition> transitions_;
  std::unordered_map<Slot, FilePlace> places_;
  // Offsets of contexts that are new, of known ones in transitions that are new, and of transitions
  // that are young.
  OffsetModel::Prior new_contexts_;
  OffsetModel::Prior new_transitions_;
  OffsetModel::Prior young_transitions_;
  std::int64_t new_distance_ = 0;  // of the last new context
  std::optional<Operation> last_;
  std::uint64_t count_ = 0;
  std::size_t parts_bytes_ = 0;  // of the models in the tables
  std::size_t parts_symbols_ = 0;
};

}  // namespace omnio::predict
