// Finds and predicts the patterns of accesses to one file by one process while they are made, after
// Tang et al., "Improving Read Performance with Online Access Pattern Analysis and Prefetching"
// (Euro-Par 2014). Contiguous, strided and kd-strided accesses, for any k, and compositions are
// loops over loops here (LoopList); correlations have a table (Correlations). The steps of the
// paper, for each access:
//
// - Grow: the access is the one that was expected. The cursor advances.
// - Detect, coalesce, look back: three accesses at one distance become a loop, as do three loops,
//   or the same parts three times, up to kMostInBody of them. This looks back at what was in no
//   pattern yet.
// - Commit: the access was not the expected one. What came before stays as history; a cursor that
//   was right for long is held for some accesses, since a header may be written in between.
// - Look up the history: the latest accesses are looked for as the beginning of an older pattern,
//   or of the next turn of a loop. The one that explains most of them becomes the cursor. So a nest
//   is predicted from the first access of its second turn on, in each dimension.
//
// The paper leaves thresholds open: T_struct is kStructured, T_corr is Correlations::kLeastShare,
// and T_comp is two turns for a prediction (one period and the first difference that comes again)
// and three turns for a pattern.
//
// Memory: at most kMostBytes. Beyond that the oldest patterns are dropped. The time of an access is
// bounded: by the depth of the loops if it was expected, else by the limits of lookUp(). Not for
// several threads at a time.
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
  static constexpr std::size_t kMostBytes = std::size_t{192} << 10;
  // Accesses in a row that a structure has to explain before it goes before correlations.
  static constexpr std::uint64_t kStructured = 3;
  // So many, and the accesses do not count for correlations. A cursor that has explained as many
  // is held for kHeld accesses that it did not expect.
  static constexpr std::uint64_t kSettled = 8;
  static constexpr std::uint64_t kHeld = 4;
  // After so many misses in a row a structure has to explain kStructured accesses at least.
  static constexpr std::uint64_t kGuesses = 8;
  // Parts of a body, and so of the period of a composition.
  static constexpr std::size_t kMostInBody = 340;

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
  // Predictions are made of one of these.
  enum class Source : std::uint8_t { kNone, kCursor, kHeldCursor, kCorrelations, kContiguous };

  bool takeHeld(const Request& access);
  void bound();
  void lookUp();
  bool mayBegin(std::size_t at, std::size_t tail) const;
  bool tryRepeat(std::size_t at, std::size_t tail);
  bool tryNextTurn(std::size_t at);
  bool skipFrom(std::size_t tail);
  Source source() const;
  Prediction predictionAt(const LoopCursor& cursor, std::uint64_t support) const;
  void readOn(LoopCursor cursor, std::uint64_t support, std::size_t count,
              std::vector<Prediction>& predictions) const;

  // Limits of lookUp(): elements that it matches, elements that it looks back, loops among these,
  // and older elements that are like the last.
  static constexpr std::size_t kMostTail = 8;
  static constexpr std::size_t kMostBack = 64;
  static constexpr std::size_t kMostLoops = 16;
  static constexpr std::size_t kMostTried = 8;

  LoopList list_{kMostInBody};
  LoopCursor cursor_;          // at what is expected, if it is set
  LoopCursor tried_;           // of lookUp()
  LoopCursor held_;            // the one before, at what it still expects
  std::uint64_t support_ = 0;  // of the cursor
  std::uint64_t held_support_ = 0;
  std::uint64_t misses_ = 0;  // in a row
  Correlations correlations_;
  Request last_;
  std::uint64_t contiguous_ = 0;  // accesses in a row that begin where the one before ended
  std::uint64_t accesses_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace omnio::pattern::access
