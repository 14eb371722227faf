// How numbers are stored in a record: 0 to 8 little-endian bytes, the length given by a 3-bit code
// in the record's header. Code c means c bytes for 0 to 6, and 8 bytes for 7. A field whose value
// was predicted is 0 and takes no byte at all.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace omnio::wire {

static_assert(std::endian::native == std::endian::little,
              "logs are little-endian and are stored and loaded by plain copies");

inline constexpr int kLengthCodeBits = 3;

// Branch-free, because the lengths of neighbouring fields are as good as random to a predictor.
constexpr unsigned lengthCode(std::uint64_t value) {
  // The highest bit of value|1 is that of value, or bit 0 for 0, which the last term makes no byte.
  const unsigned top = 63U ^ static_cast<unsigned>(std::countl_zero(value | 1));
  const unsigned bytes = (top >> 3) + static_cast<unsigned>(value != 0);
  return bytes - (bytes >> 3);  // 8 bytes are code 7, as 7 bytes are
}

constexpr unsigned codedLength(unsigned code) { return code + ((code + 1U) >> 3); }

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// An application may ask for any number, and a damaged file hold any: both wrap around, and so undo
// each other.
constexpr std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

constexpr std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// Stores always write 8 bytes: the writer keeps that much room behind every field.
inline void store64(char* out, std::uint64_t value) { std::memcpy(out, &value, sizeof value); }

// Loads the `length` (0 to 8) bytes at `in`.
inline std::uint64_t loadBytes(const char* in, unsigned length) {
  std::uint64_t value = 0;
  std::memcpy(&value, in, length);
  return value;
}

// Variable-length numbers of definitions and piece lists: 7 bits a byte, low bits first.
inline constexpr unsigned kMaxVarint = 10;

inline char* putVarint(char* out, std::uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}

// Returns the place behind the number, or nullptr when the input ends inside it or it is too long.
inline const char* getVarint(const char* in, const char* end, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && in < end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*in++);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return in;
  }
  return nullptr;
}

}  // namespace omnio::wire
