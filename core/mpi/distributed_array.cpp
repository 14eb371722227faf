#include "core/mpi/distributed_array.hpp"

#include <algorithm>

namespace omnio::mpi {

std::optional<DataLayout::Id> distributed(DataLayout& layout, DataLayout::Id data,
                                          std::int64_t unit, const Distribution& how) {
  std::int64_t block = how.argument;
  if (how.kind == 'n') {
    block = how.size;
  } else if (block == 0) {
    const std::int64_t shares = how.size / how.processes + (how.size % how.processes != 0 ? 1 : 0);
    block = how.kind == 'b' ? shares : 1;
  }
  if (block < 1 || (how.kind != 'n' && how.kind != 'b' && how.kind != 'c')) return {};
  // Blocks of so many elements to each process in turn; the last one may be shorter.
  std::int64_t start = 0;
  std::int64_t cycle = 0;
  std::int64_t begin = 0;
  std::int64_t step = 0;
  if (__builtin_mul_overflow(how.place, block, &start) ||
      __builtin_mul_overflow(how.processes, block, &cycle) ||
      __builtin_mul_overflow(start, unit, &begin) || __builtin_mul_overflow(cycle, unit, &step)) {
    return {};
  }
  DataLayout::Parts parts = layout.parts();
  if (start < how.size) {
    const std::int64_t begun = (how.size - start - 1) / cycle + 1;
    const std::int64_t last = start + (begun - 1) * cycle;
    const std::int64_t last_block = std::min(block, how.size - last);
    const std::int64_t whole = last_block == block ? begun : begun - 1;
    std::int64_t last_begin = 0;
    if (__builtin_mul_overflow(last, unit, &last_begin)) return {};
    parts.add(begin, step, whole, layout.repeat(data, block, unit));
    if (whole < begun) parts.add(last_begin, 0, 1, layout.repeat(data, last_block, unit));
  }
  return parts.finish();
}

}  // namespace omnio::mpi
