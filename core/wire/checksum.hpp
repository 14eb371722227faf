// The checksum of headers and payloads: XXH3, 64 bits, without the library's heap or symbols. And
// numbers made of numbers.
#pragma once

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace omnio::wire {

inline std::uint64_t checksum(const void* data, std::size_t bytes) {
  return XXH3_64bits(data, bytes);
}

// Stamps and checks a structure whose last member is its checksum.
template <typename T>
std::uint64_t checksumOfRest(const T& value) {
  return checksum(&value, sizeof(T) - sizeof(std::uint64_t));
}

// 2^64 divided by the golden ratio, made odd: as a factor it moves each bit upwards.
inline constexpr std::uint64_t kGoldenStep = 0x9E3779B97F4A7C15U;

// One number made of two. Equal results of different pairs are as rare as equal random numbers.
constexpr std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a ^ (b + kGoldenStep + (a << 6) + (a >> 2));
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;  // the finaliser of SplitMix64 (Steele et al. 2014)
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace omnio::wire
