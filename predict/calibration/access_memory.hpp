// Memory that accesses read into and write from, placed as malloc places it in an application.
//
// Some processors copy slower where memory begins a few bytes later in its page than the data in
// the page cache: reads into a large block of malloc take up to twice as long as to a page
// boundary.
#pragma once

#include <cstdint>

namespace omnio::predict {

// The largest access. All that is used in turn has about as much, to be in none of the nearest
// caches of the processor when it is used again.
inline constexpr std::uint64_t kBufferBytes = std::uint64_t{16} << 20;

class AccessMemory {
 public:
  // Fills it with random bytes, which do not compress. Two seeds have nothing in common.
  explicit AccessMemory(std::uint64_t seed);
  AccessMemory(const AccessMemory&) = delete;
  AccessMemory& operator=(const AccessMemory&) = delete;
  ~AccessMemory();

  // False where memory is missing. Nothing else may be called then.
  bool isThere() const { return begin_ != nullptr; }
  // kBufferBytes on a page boundary, whatever else they are used for.
  char* begin() const { return begin_; }

  // As a block of glibc's malloc: from 128 KiB on 16 bytes after a page boundary, as long as the
  // program has freed no larger one; smaller ones one after another, on multiples of 16 bytes. At
  // most kBufferBytes. Given out again when all other memory was.
  char* nextBlock(std::uint64_t bytes);
  // The same on a page boundary, as direct I/O wants it.
  char* nextPages(std::uint64_t bytes);

  // Bytes that each one takes.
  static std::uint64_t allBytes();

 private:
  char* next(std::uint64_t bytes, std::uint64_t unit, std::uint64_t after);

  char* begin_ = nullptr;
  std::uint64_t free_ = 0;  // offset after the memory that was given out last
};

}  // namespace omnio::predict
