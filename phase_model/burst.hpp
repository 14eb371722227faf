// The requests of one operation that one thread makes on one file without anything else between
// them: found to be one or a few runs of constant stride, one contiguous sequence of varying sizes,
// or something random. Memory is bounded, however many requests there are.
//
// A burst of up to kMaxPieces runs is told run by run (a header, a body and a tail, say). One that
// is more cut up keeps its long runs; all others together become one random pattern. Contiguous
// runs that follow each other count as one: with more than kMaxPieces sizes they become one varying
// pattern.
#pragma once

#include <vector>

#include "phase_model/pattern.hpp"

namespace omnio::phases {

inline constexpr std::size_t kMaxPieces = 3;
inline constexpr std::size_t kMaxLongRuns = 8;

class Burst {
 public:
  explicit Burst(const Access& first);

  // Whether the access is of the same operation, made in the same manner.
  bool takes(const Access& access) const;
  void add(const Access& access);

  // Whether the access is of the same kind and begins where the last one ended.
  bool isContinuedBy(const Access& access) const;

  // The patterns, by the time they began. The burst is over.
  std::vector<Pattern> finish();

 private:
  void begin(const Access& access);
  std::size_t contiguousPieces() const;
  void foldContiguous();
  void foldShort();

  std::vector<Pattern> pieces_;
  std::vector<Pattern> remainder_;  // one at most: the random pattern that short runs became
  Access run_first_;                // of the last piece
  Access run_last_;
};

// Makes one random pattern of those that are shorter than `long_run` requests, appended to the one
// in `remainder`, if there is one.
void foldInto(std::vector<Pattern>& remainder, std::vector<Pattern>& patterns,
              std::uint64_t long_run);

}  // namespace omnio::phases
