// A storage system whose requests take one of up to three paths, and which one is known of each.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <utility>

#include "core/base/integers.hpp"
#include "predict/access_time/access.hpp"

namespace omnio::access_time::test {

// Medians of 0.2, 2 and 6 ms for a small request, and longer by a MiB/s for each of them:
// lognormal, so that neighbours overlap by 5 % (the area below both densities). 2 and 6 ms do with
// a standard deviation of the logarithms of 0.28; 0.2 and 2 ms do with one of 0.94 of the former.
struct ThreePaths {
  std::array<double, 3> shares = {0.85, 0.12, 0.03};
  std::array<double, 3> deviations = {0.28, 0.28, 0.28};
  std::uint64_t seed = 1;

  static constexpr double kWide = 0.9435;

  struct Drawn {
    int path = 0;
    double seconds = 0;
  };
  // The `number`-th request.
  Drawn request(double bytes, std::uint64_t number) const {
    constexpr std::array<double, 3> kMedians = {2e-4, 2e-3, 6e-3};
    const auto unit = [&](std::uint64_t which) {
      return (static_cast<double>(base::mixed(seed, number, which) >> 11) + 0.5) * 0x1p-53;
    };
    const double chosen = unit(0);
    const int path = chosen < shares[0] ? 0 : chosen < shares[0] + shares[1] ? 1 : 2;
    const auto i = static_cast<std::size_t>(path);
    // G. Box, M. Muller, Annals of Mathematical Statistics 29, 1958.
    const double normal =
        std::sqrt(-2 * std::log(unit(1))) * std::cos(2 * std::numbers::pi * unit(2));
    return {path, kMedians[i] * (1 + bytes / (1 << 20)) * std::exp(deviations[i] * normal)};
  }

  // Reads of 4 KiB to 4 MiB, sequential and random, in rounds of `count` a cell.
  Samples samples(std::uint64_t count) const {
    Samples result;
    std::uint64_t number = std::uint64_t{1} << 40;
    for (int round = 0; round < 2; ++round) {
      for (const AccessOrder order : {AccessOrder::kSequential, AccessOrder::kRandom}) {
        for (double bytes = 4096; bytes <= (4 << 20); bytes *= 4) {
          for (std::uint64_t i = 0; i < count; ++i) {
            Access access{.order = order, .bytes = bytes};
            if (order == AccessOrder::kRandom) {
              access.delta_offset = static_cast<std::int64_t>(base::mixed(number) % (1U << 30)) + 1;
            }
            result.push_back(
                {access, request(bytes, number).seconds, round, static_cast<std::int64_t>(number)});
            ++number;
          }
        }
      }
    }
    return result;
  }
};

// How far two ways to put the same things into classes agree, beyond chance: 1 where they are the
// same (L. Hubert, P. Arabie, "Comparing partitions", Journal of Classification 2, 1985).
class RandIndex {
 public:
  void add(int truth, std::size_t found) { ++counts_[{truth, found}]; }

  double adjusted() const {
    const auto pairs = [](double n) { return n * (n - 1) / 2; };
    std::map<int, double> rows;
    std::map<std::size_t, double> columns;
    double all = 0, both = 0, of_rows = 0, of_columns = 0;
    for (const auto& [cell, count] : counts_) {
      rows[cell.first] += count;
      columns[cell.second] += count;
      all += count;
      both += pairs(count);
    }
    for (const auto& [row, count] : rows) of_rows += pairs(count);
    for (const auto& [column, count] : columns) of_columns += pairs(count);
    const double chance = of_rows * of_columns / pairs(all);
    return (both - chance) / ((of_rows + of_columns) / 2 - chance);
  }

 private:
  std::map<std::pair<int, std::size_t>, double> counts_;
};

}  // namespace omnio::access_time::test
