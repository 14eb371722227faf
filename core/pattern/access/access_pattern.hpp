// Kinds of patterns in accesses to a file, after Tang et al., "Improving Read Performance with
// Online Access Pattern Analysis and Prefetching" (Euro-Par 2014). Plain values: safe to copy, and
// to read from several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "core/pattern/part.hpp"

namespace omnio::pattern::access {

enum class PatternKind : std::uint8_t {
  kSingle,       // an access that is in no pattern
  kContiguous,   // without a gap; sizes may vary
  kStrided,      // one size and one stride
  kNested,       // kd-strided: loops inside each other, each with one stride
  kComposition,  // differences of offsets, of accesses or of starts of patterns, that come again
  kCorrelation,  // offsets that follow an offset in any order
};

// The kind of one part by itself.
PatternKind kindOf(const Part& part);
// For people: "contiguous".
const char* nameOf(PatternKind kind);

struct AccessPattern {
  PatternKind kind = PatternKind::kSingle;
  // requestOf() has its accesses. Contiguous accesses of sizes that vary are one turn of a body.
  Part part;

  bool operator==(const AccessPattern&) const = default;
};

// From the start of each part of the body to the next, and last to the next turn: {1, 8, 1, 14}.
// None for a part that is not a loop.
std::vector<std::int64_t> differencesOf(const Part& part);

// An offset, and those that come soon after it nearly every time, the nearest first.
struct Correlation {
  std::int64_t offset = 0;
  std::vector<std::int64_t> followers;

  bool operator==(const Correlation&) const = default;
};

}  // namespace omnio::pattern::access
