// Finds and predicts the patterns of accesses to one file by one process while they are made, after
// Tang et al., "Improving Read Performance with Online Access Pattern Analysis and Prefetching"
// (Euro-Par 2014). Contiguous, strided and kd-strided accesses, for any k, and compositions are
// loops over loops here (LoopList); correlations have a table (Correlations). The steps of the
// paper, for each access:
//
// - Grow: the access is the one that was expected. The cursor advances.
// - Detect, coalesce, look back: three accesses at one distance become a loop, as do three loops,
// or
//   the same parts three times, up to LoopList::kMostInBody of them. This looks back at what was in
//   no pattern yet.
// - Commit: the access was not the expected one. What came before stays as history.
// - Look up the history: the latest accesses are looked for as the beginning of an older pattern,
// or
//   of the next turn of a loop. The one that explains most of them becomes the cursor. So a nest is
//   predicted from the first access of its second turn on, in each dimension.
//
// What the paper leaves open: T_struct is kStructured, T_corr is Correlations::kLeastShare, and
// T_comp is two turns for a prediction (one period and the first difference that comes again) and
// three turns for a pattern.
//
// Memory: at most kMostBytes. Beyond that the oldest patterns are dropped. An access takes constant
// time: about the length of a look at the last LoopList::kMostInBody parts; one that was not
// expected takes a look at kMostTail times kMostBack parts more. Not for several threads at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/pattern/access/access_pattern.hpp"
#include "core/pattern/access/correlations.hpp"
#include "core/pattern/access/loop_cursor.hpp"
#include "core/pattern/access/loop_list.hpp"

namespace omnio::pattern::access {

class AccessPatterns {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{96} << 10;
  // Accesses in a row that a structure has to explain before it goes before correlations.
  static constexpr std::uint64_t kStructured = 3;
  // So many, and the accesses do not count for correlations.
  static constexpr std::uint64_t kSettled = 8;
  // After so many misses in a row a structure has to explain two accesses at least.
  static constexpr std::uint64_t kGuesses = 4;
  static constexpr std::size_t kMostTail = 8;
  static constexpr std::size_t kMostBack = LoopList::kMostInBody;

  struct Prediction {
    std::int64_t offset = 0;
    std::uint64_t bytes = 0;
    // The pattern that leads to it from the access before.
    PatternKind kind = PatternKind::kSingle;
    // So many accesses before it, in a row, were those that the pattern expected.
    std::uint64_t support = 0;

    bool operator==(const Prediction&) const = default;
  };

  void add(std::int64_t offset, std::uint64_t bytes);

  // The next access; nothing where none is expected.
  std::optional<Prediction> next() const;
  // The next ones, in order: fewer where it is not known how they go on.
  std::vector<Prediction> predict(std::size_t count) const;

  // In the order of the accesses. Those that were not dropped, one after another, are the accesses
  // that were added.
  std::vector<AccessPattern> patterns() const;
  std::vector<Correlation> correlations() const { return correlations_.all(); }

  std::uint64_t accesses() const { return accesses_; }  // that were added
  std::uint64_t droppedAccesses() const { return dropped_; }
  std::size_t memoryBytes() const;

 private:
  using Element = LoopList::Element;
  // What predictions are made of.
  enum class Source : std::uint8_t { kNone, kCursor, kCorrelations, kContiguous };

  void bound();
  void lookUp();
  bool mayBegin(std::size_t at, std::size_t tail) const;
  Source source() const;
  Prediction predictionAt(const LoopCursor& cursor, std::uint64_t support) const;

  LoopList list_;
  LoopCursor cursor_;          // at what is expected, if it is set
  LoopCursor tried_;           // of lookUp()
  std::uint64_t support_ = 0;  // of the cursor
  std::uint64_t misses_ = 0;   // in a row
  Correlations correlations_;
  Request last_;
  std::uint64_t contiguous_ = 0;  // accesses in a row that begin where the one before ended
  std::uint64_t accesses_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace omnio::pattern::access
