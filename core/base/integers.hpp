// Whole numbers: read from text, mixed, and summed without an overflow.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace omnio::base {

// The number that the text is, all of it; nothing when it is none, or has no room in the type. Only
// a signed type takes a minus sign, and none takes a plus sign.
template <typename Number>
std::optional<Number> wholeNumber(std::string_view text, int base = 10) {
  Number number = 0;
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, number, base);
  return error == std::errc() && end == text_end ? std::optional(number) : std::nullopt;
}

// Mixes the bits of 64-bit numbers, for hash tables, seeds and made-up content. SplitMix64 (Steele,
// Lea and Flood 2014), whose results are the same everywhere. Not for a number that an adversary
// chooses.

// The step of SplitMix64: 2^64 divided by the golden ratio, made odd.
inline constexpr std::uint64_t kGoldenStep = 0x9E3779B97F4A7C15U;

// The finaliser of SplitMix64: each bit of the input changes half of the bits of the result. Maps 0
// to 0.
constexpr std::uint64_t finalMix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// One draw of SplitMix64 in this state.
constexpr std::uint64_t mixed(std::uint64_t x) { return finalMix(x + kGoldenStep); }

// Numbers in their order: mixed(a, b) differs from mixed(b, a).
template <typename... More>
constexpr std::uint64_t mixed(std::uint64_t first, std::uint64_t second, More... more) {
  return mixed(mixed(first) ^ second, static_cast<std::uint64_t>(more)...);
}

// Sums of numbers that damage may have made of any size: at the bounds they stay there.

constexpr std::int64_t saturatingSum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

// Sums that wrap around at 64 bits, so that no sequence of numbers is beyond them.

constexpr std::int64_t wrappedSum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

constexpr std::int64_t wrappedDifference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

constexpr std::int64_t wrappedProduct(std::int64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * b);
}

}  // namespace omnio::base
