// Mixes the bits of 64-bit numbers inside the tracer, which does not use core/base.
#pragma once

#include <cstdint>

namespace omnio::trace {

// 2^64 divided by the golden ratio, made odd: as a factor it moves each bit upwards.
inline constexpr std::uint64_t kGoldenStep = 0x9E3779B97F4A7C15U;

// One number made of two. Equal results of different pairs are as rare as equal random numbers.
constexpr std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a ^ (b + kGoldenStep + (a << 6) + (a >> 2));
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;  // the finaliser of SplitMix64 (Steele et al. 2014)
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace omnio::trace
