#include "replay/target/content.hpp"

#include <algorithm>
#include <cstring>

namespace omnio::replay {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;
constexpr std::size_t kBlock = 4096;  // what storage deduplicates by, at the finest

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace

void fillContent(std::uint64_t file, std::uint64_t offset, std::span<char> out) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const std::uint64_t seed = mix((file + 1) * kGolden);
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t place = offset + done;
    const std::uint64_t word = mix(seed + (place / kWord + 1) * kGolden);
    const std::size_t skip = place % kWord;
    const std::size_t bytes = std::min(kWord - skip, out.size() - done);
    std::memcpy(out.data() + done, reinterpret_cast<const char*>(&word) + skip, bytes);
    done += bytes;
  }
}

void stampBlocks(std::uint64_t stamp, std::span<char> buffer) {
  std::uint64_t word = mix(stamp);
  constexpr std::uint64_t kNoControl = 0x2020202020202020;  // neither NUL nor newline
  for (std::size_t at = 0; at < buffer.size(); at += kBlock, word += kGolden) {
    const std::uint64_t text = word | kNoControl;
    std::memcpy(buffer.data() + at, &text, std::min(sizeof text, buffer.size() - at));
  }
}

}  // namespace omnio::replay
