// Made-up content: neither zeros nor holes, it does not compress, and no block is like another, so
// that a storage system that compresses or deduplicates gains nothing by it.
#pragma once

#include <cstdint>
#include <span>

namespace omnio::replay {

// A sequence of its own for each file (by its number) and each 8 bytes of it: any piece can be made
// by itself, and is the same whoever makes it. SplitMix64 (Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014) over the place.
void fillContent(std::uint64_t file, std::uint64_t offset, std::span<char> out);

// Makes each 4 KiB of a buffer that is written again unlike all others before: `stamp` is a number
// that is used once. Neither NUL nor newline comes of it.
void stampBlocks(std::uint64_t stamp, std::span<char> buffer);

}  // namespace omnio::replay
