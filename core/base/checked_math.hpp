// Sums of numbers that damage may have made of any size: at the bounds they stay there.
#pragma once

#include <cstdint>

namespace omnio::base {

constexpr std::int64_t saturatingSum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

}  // namespace omnio::base
