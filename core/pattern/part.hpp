// Sequences of requests as nests of loops. A strided sequence is one loop; a kd-strided one (Tang
// et al., Euro-Par 2014) is k loops, one inside another. A loop over several parts is their
// composition. Plain values: safe to copy, and to read from several threads.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace omnio::pattern {

// Maximum number of loops inside each other: the JSON reader of phase models takes no more.
inline constexpr std::size_t kMaxNesting = 12;

struct Request {
  std::int64_t offset = 0;  // bytes
  std::uint64_t bytes = 0;

  auto operator<=>(const Request&) const = default;
};

// One request, or a loop over parts.
struct Part {
  // Offset of the first request in bytes. In a body it counts from the begin of the turn.
  std::int64_t offset = 0;
  std::uint64_t bytes = 0;  // size of a request; 0 for a loop
  // A loop has `count` turns, whose begins are `stride` bytes apart.
  std::uint64_t count = 1;
  std::int64_t stride = 0;
  std::vector<Part> body;
  std::uint64_t requests = 1;  // total number of requests

  bool isLoop() const { return !body.empty(); }
  // Whether both are the same but for where they begin.
  bool isLike(const Part& other) const;
  bool operator==(const Part&) const = default;
};

// The offset of the first part in `body` has to be 0.
Part requestAt(std::int64_t offset, std::uint64_t bytes);
Part loopOf(std::int64_t offset, std::uint64_t count, std::int64_t stride, std::vector<Part> body);

// The functions below do not check for overflow: parts from a trace or from the reader of phase
// models stay within 60 bits.

// The n-th request, n below part.requests.
Request requestOf(const Part& part, std::uint64_t n);

struct PartSummary {
  std::uint64_t bytes = 0;  // of all requests
  std::uint64_t smallest = 0;
  std::uint64_t largest = 0;
  std::int64_t begin = 0;  // the first byte that is touched
  std::int64_t end = 0;    // behind the last one
  std::size_t depth = 0;   // of loops, one inside another
};
PartSummary summaryOf(const Part& part);

// Whether it is one loop over one request: a constant stride.
bool isStride(const Part& part);
struct Dimension {
  std::uint64_t count = 1;
  std::int64_t stride = 0;

  auto operator<=>(const Dimension&) const = default;
};
// Innermost first, where each loop is over one part: a kd-strided sequence. Else none.
std::vector<Dimension> dimensionsOf(const Part& part);

// For people, outermost first: "3 x 69120 B (2 x 31200 B (6 x 5760 B (6 x 480 B)))"; parts of a
// body by where they begin: "4 x 1 MiB [0 B, 40 B, 88 B]".
std::string textOf(const Part& part);

}  // namespace omnio::pattern
