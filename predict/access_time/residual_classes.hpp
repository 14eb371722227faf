// Classes of residuals: accesses whose times differ from the model by about the same factor went
// the same way through the storage.
//
// After L. Schmid, J. Kunkel (see access.hpp), who cluster residuals by k-means. Here they are the
// logarithms of measured over predicted time: a path is slower by a factor, and times are about
// lognormal. K-means gives the first guess of a mixture of normal distributions (EM; A. Dempster,
// N. Laird, D. Rubin, JRSS B 39, 1977), whose number has the least BIC (G. Schwarz, Annals of
// Statistics 6, 1978). Neighbours without a dip between them are one class: a distribution that is
// not normal takes several to be described (C. Hennig, "Methods for merging Gaussian mixture
// components", ADAC 4, 2010).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace omnio::access_time {

// Counts of residuals. Its size does not depend on how many there are.
class ResidualHistogram {
 public:
  static constexpr std::size_t kBins = 512;  // from e^-16 to e^16, each 6 % wide

  // The bin of a factor; the first or last one where it lies outside of the range.
  static std::size_t binOf(double factor);
  static double middleOf(std::size_t bin);  // a logarithm
  static double lowerOf(std::size_t bin);   // a factor

  void add(double factor) { ++counts_[binOf(factor)]; }
  std::uint64_t at(std::size_t bin) const { return counts_[bin]; }

 private:
  std::array<std::uint64_t, kBins> counts_{};
};

// The first bin of each class, ascending; that of the first class is 0. One class where there is
// nothing to tell apart.
std::vector<std::size_t> classesOf(const ResidualHistogram& residuals);

}  // namespace omnio::access_time
