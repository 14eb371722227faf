// Sums over the bytes that requests touched. They show whether many blocks fill a region, each byte
// once, without keeping the blocks.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace omnio::phases {

// Sums are modulo 2^64. Blocks that overlap and leave gaps have other sums, unless a program chose
// its offsets for that.
struct BytePlaces {
  std::uint64_t sum = 0;      // of the offsets of all bytes
  std::uint64_t squares = 0;  // of the squares of these
  bool is_known = true;

  // `count` blocks of `bytes` bytes, the first at `first`, `stride` from one to the next.
  constexpr void add(std::uint64_t first, std::uint64_t bytes, std::uint64_t stride = 0,
                     std::uint64_t count = 1) {
    const std::uint64_t begins = count * first + stride * triangle(count);
    const std::uint64_t begins_squared = count * first * first +
                                         2 * first * stride * triangle(count) +
                                         stride * stride * pyramid(count);
    sum += bytes * begins + count * triangle(bytes);
    squares += bytes * begins_squared + 2 * triangle(bytes) * begins + count * pyramid(bytes);
  }
  constexpr void add(const BytePlaces& other) {
    sum += other.sum;
    squares += other.squares;
    is_known = is_known && other.is_known;
  }
  constexpr bool operator==(const BytePlaces&) const = default;

 private:
  // 0 + 1 + ... + (n - 1)
  static constexpr std::uint64_t triangle(std::uint64_t n) {
    if (n == 0) return 0;
    return n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
  }
  // 0 + 1 + 4 + ... + (n - 1)^2 = (n - 1) n (2 n - 1) / 6
  static constexpr std::uint64_t pyramid(std::uint64_t n) {
    if (n == 0) return 0;
    std::uint64_t factors[3] = {n - 1, n, 2 * n - 1};
    for (const std::uint64_t divisor : {2, 3}) {
      for (std::uint64_t& factor : factors) {
        if (factor % divisor != 0) continue;
        factor /= divisor;
        break;
      }
    }
    return factors[0] * factors[1] * factors[2];
  }
};

}  // namespace omnio::phases
