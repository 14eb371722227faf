// How many calls of all threads were under way at a time of a run, from their begins and ends in
// any order, and in memory that does not grow with them: they are counted at instants of the run
// that are equally far apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace omnio::access_time {

class AtOnce {
 public:
  static constexpr std::size_t kMostInstants = std::size_t{1} << 18;

  // A call, in ns since the beginning of the run.
  void add(std::int64_t start_ns, std::int64_t end_ns);
  // When all were added.
  void finish();

  // The number that a call saw in this time, with itself: the mean over the calls that were counted
  // then. Where these are fewer than 16, the time around it counts too: calls of ranks that meet
  // now and then for a moment are not taken for those of one rank.
  double during(std::int64_t start_ns, std::int64_t end_ns) const;

 private:
  // The first instant at or after the time.
  std::size_t instantAt(std::int64_t ns) const;

  unsigned shift_ = 8;                 // instants are 2^shift_ ns apart
  std::vector<std::int64_t> changes_;  // of the number, by instant
  std::vector<std::uint64_t> sums_;    // of the numbers before an instant, and of their squares
  std::vector<std::uint64_t> squares_;
};

}  // namespace omnio::access_time
