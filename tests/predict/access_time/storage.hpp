// A storage system of which all is known: the mean time of each access, how much accesses vary, and
// samples of it as a calibration takes them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/integers.hpp"
#include "predict/access_time/access.hpp"

namespace omnio::access_time::test {

// A cached write is copied, page by page; a cached read is a copy, or, for a share
// `misses` of them, a visit to a device. Random accesses miss four times as often.
struct Storage {
  double misses = 1.0 / 16;

  static double pages(double bytes) { return std::ceil(bytes / 4096); }
  static double missSeconds(const Access& access) { return 2e-4 + access.bytes / 200e6; }
  static double hitSeconds(const Access& access) {
    const double base = access.operation == CellOperation::kWrite ? 2e-6 : 1e-6;
    // What the caches of the processor do not hold takes six times as long.
    const double beyond = std::max(0.0, access.bytes - (32 << 10));
    return (base + 4e-7 * pages(access.bytes) + access.bytes / 5e10 + beyond / 1e9) *
           (1 + 0.4 * (access.processes - 1));
  }
  double missShare(const Access& access) const {
    if (access.operation != CellOperation::kRead) return 0;
    return (access.order == AccessOrder::kSequential ? 1.0 : 4.0) * misses;
  }
  double mean(const Access& access) const {
    const double share = missShare(access);
    return (1 - share) * hitSeconds(access) + share * missSeconds(access);
  }
  // The `number`-th such access: its mean is mean(), and the time varies by some percent.
  double seconds(const Access& access, std::uint64_t number) const {
    const std::uint64_t draw = base::mixed(number, 7);
    const double unit = static_cast<double>(draw >> 11) * 0x1p-53;
    const bool is_miss = unit < missShare(access);
    const double varied = 0.9 + 0.2 * (static_cast<double>(base::mixed(draw) >> 11) * 0x1p-53);
    return varied * (is_miss ? missSeconds(access) : hitSeconds(access));
  }
};

// A round of a calibration: `count` accesses of each cell.
inline Samples samplesOf(const Storage& storage, int rounds, std::uint64_t count) {
  Samples samples;
  std::uint64_t number = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const CellOperation operation : {CellOperation::kRead, CellOperation::kWrite}) {
      for (const AccessOrder order : {AccessOrder::kSequential, AccessOrder::kRandom}) {
        for (const double processes : {1.0, 2.0, 4.0}) {
          for (double bytes = 1; bytes <= (16 << 20); bytes *= 4) {
            for (std::uint64_t i = 0; i < count; ++i) {
              Access access{
                  .operation = operation, .order = order, .bytes = bytes, .processes = processes};
              ++number;
              if (order == AccessOrder::kRandom) {
                access.delta_offset =
                    static_cast<std::int64_t>(base::mixed(number) % (1U << 30)) + 1;
              }
              samples.push_back({access, storage.seconds(access, number), round,
                                 static_cast<std::int64_t>(number)});
            }
          }
        }
      }
    }
  }
  return samples;
}

}  // namespace omnio::access_time::test
