// What a call costs in thread-CPU time, and what it costs more than the library's own function.
#pragma once

#include <time.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "bench/tracer_calls.hpp"

namespace omnio::bench {

inline constexpr long kBlockCalls = 20000;  // a full chunk is handed over in each; milliseconds
inline constexpr long kWarmUpBlocks = 5;    // before those that count: memory and caches settle

inline double threadCpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Of one block, a call; `call` gets their numbers from `first`.
template <typename Call>
double blockCost(long first, Call call) {
  const double before = threadCpuNs();
  for (long i = first; i < first + kBlockCalls; ++i) call(i);
  return (threadCpuNs() - before) / static_cast<double>(kBlockCalls);
}

// Makes `calls` of them each way, in blocks by turns: what slows the machine down slows down both
// neighbours. The medians of what a call takes and of what it takes more than the library's.
template <typename Functions>
class ByTurns {
 public:
  // `bound` are those that a program calls, the tracer's when it is preloaded; `direct` the
  // library's own.
  ByTurns(long calls, const Functions& bound, const Functions& direct)
      : blocks_(std::max(1L, calls / kBlockCalls)), bound_(bound), direct_(direct) {}

  // call(functions, number)
  template <typename Call>
  void measure(const char* name, Figures& figures, Call call) const {
    warmMemory();
    std::vector<double> costs;
    std::vector<double> differences;
    for (long block = -kWarmUpBlocks; block < blocks_; ++block) {
      std::array<double, 2> way{};
      for (const long turn : {0L, 1L}) {
        const auto which = static_cast<std::size_t>((block + turn) & 1);  // who is first, by turns
        const Functions& functions = which == 0 ? bound_ : direct_;
        way[which] = blockCost((2 * (kWarmUpBlocks + block) + turn) * kBlockCalls,
                               [&](long i) { call(functions, i); });
      }
      if (block < 0) continue;
      costs.push_back(way[0]);
      differences.push_back(way[0] - way[1]);
    }
    figures[name] = median(std::move(costs));
    figures[addedBy(name)] = median(std::move(differences));
  }

  long blocks() const { return blocks_; }

 private:
  const long blocks_;
  const Functions bound_;
  const Functions direct_;
};

}  // namespace omnio::bench
