// The checksum of headers and payloads: XXH3, 64 bits, without the library's heap or symbols.
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

}  // namespace omnio::wire
