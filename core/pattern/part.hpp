// Requests in their order, as nests of loops: a strided sequence is one loop, a k-dimensional one
// (the kd-strided of Tang et al., Euro-Par 2014) k loops, one inside another. A body of several
// parts is what they call a composition.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace omnio::pattern {

// Loops one inside another, at most: the document of a phase model holds no more.
inline constexpr std::size_t kMaxNesting = 12;

struct Request {
  std::int64_t offset = 0;  // bytes
  std::uint64_t bytes = 0;

  auto operator<=>(const Request&) const = default;
};

// One request, or a loop over parts.
struct Part {
  // Where its first request begins, in bytes: of a part in a body, from the begin of the turn.
  std::int64_t offset = 0;
  std::uint64_t bytes = 0;  // of a request; 0 of a loop
  // Of a loop: its turns, and the distance in bytes from the begin of one to that of the next.
  std::uint64_t count = 1;
  std::int64_t stride = 0;
  std::vector<Part> body;
  std::uint64_t requests = 1;  // in all of it

  bool isLoop() const { return !body.empty(); }
  // Whether both are the same but for where they begin.
  bool isLike(const Part& other) const;
  bool operator==(const Part&) const = default;
};

// The first part of the body is at 0.
Part requestAt(std::int64_t offset, std::uint64_t bytes);
Part loopOf(std::int64_t offset, std::uint64_t count, std::int64_t stride, std::vector<Part> body);

// All of these go beyond 64 bits only for parts that were made up.

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
