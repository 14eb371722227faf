// Data in blocks of one size at one distance: what the layouts of strided files come to. Says
// nothing about where the first one lies.
#pragma once

#include <cstdint>

namespace omnio::trace {

struct RegularBlocks {
  std::int64_t bytes = 0;   // of a block; 0 when the layout is not of this kind
  std::int64_t stride = 0;  // from one block's begin to the next one's; 0 when there is one
  std::int64_t count = 0;

  constexpr bool isRegular() const { return bytes > 0; }

  // `times` of this layout, `step` bytes from one's begin to the next one's.
  constexpr RegularBlocks repeated(std::int64_t times, std::int64_t step) const {
    if (times == 1 || !isRegular()) return *this;
    if (times < 1) return {};
    if (count == 1 && step == bytes) return {.bytes = bytes * times, .stride = 0, .count = 1};
    if (count == 1 && step > bytes) return {.bytes = bytes, .stride = step, .count = times};
    if (count > 1 && step == stride * count) {
      return {.bytes = bytes, .stride = stride, .count = count * times};
    }
    return {};
  }
};

}  // namespace omnio::trace
