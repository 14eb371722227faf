// The requests of one process in one phase, in their order, one at a time: what the phase runner
// issues. Memory does not grow with their number.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/model/phase_model.hpp"

namespace omnio::ior {

struct Request {
  model::Operation operation = model::Operation::kWrite;
  std::int64_t offset = 0;
  std::uint64_t bytes = 0;
};

// Sequential and strided: the n-th request of an operation is at f(initOffset) + n * disp; the
// operations of a mixed phase take turns. Nested: as its loops say. Requests of varying size are
// run with the mean, each a byte more or less, so that all together move the weight. Random: as the
// model has them stored; the rest, which it has not, in a shuffled order that is the same in each
// run, over the region that they fill. Where a trace does not tell the offsets, processes take
// regions one behind another.
class PhaseRequests {
 public:
  // `phase` outlives it.
  PhaseRequests(const model::Phase& phase, int rank);

  std::optional<Request> next();

  // How many requests there are of each operation.
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  // Collective calls want every process as often as the busiest one: with requests of no bytes.
  void padTo(std::vector<std::uint64_t> counts) { rounds_ = std::move(counts); }

 private:
  Request requestOf(std::size_t operation, std::uint64_t n) const;

  const model::Phase& phase_;
  int rank_;
  std::vector<const model::RandomAccess*> stored_;  // by operation; null where there is none
  std::vector<std::uint64_t> counts_;               // by operation
  std::vector<std::uint64_t> rounds_;               // the same, padded
  std::uint64_t round_ = 0;
  std::size_t operation_ = 0;
};

// A permutation of 0 .. count-1 that needs no memory: a four-round Feistel network over the next
// power of four, walked until it falls into the range (Black and Rogaway, CT-RSA 2002).
std::uint64_t shuffled(std::uint64_t n, std::uint64_t count, std::uint64_t seed);

// Over all requests of a process.
struct RequestExtent {
  std::uint64_t requests = 0;
  std::uint64_t largest_bytes = 0;
  // First byte touched and the one behind the last; not to be trusted beyond the largest offset.
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t read_begin = 0;  // the same of reads; equal when there is none
  std::int64_t read_end = 0;
};
// Takes no longer for more requests, but for those that the model has stored.
RequestExtent extentOf(const model::Phase& phase, int rank);

}  // namespace omnio::ior
