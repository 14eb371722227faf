#include "predict/calibration/access_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/base/integers.hpp"

namespace omnio::predict {
namespace {

// glibc's malloc.
constexpr std::uint64_t kUnit = 16;
constexpr std::uint64_t kSizeField = 8;                      // before each block
constexpr std::uint64_t kLeast = 24;                         // bytes of a block
constexpr std::uint64_t kMapped = std::uint64_t{128} << 10;  // larger blocks are mappings
constexpr std::uint64_t kHead = 16;                          // of a mapping

std::uint64_t pageBytes() {
  static const auto kBytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return kBytes;
}

}  // namespace

// The head of each mapped block takes a page more.
std::uint64_t AccessMemory::allBytes() {
  return kBufferBytes + kBufferBytes / kMapped * pageBytes();
}

AccessMemory::AccessMemory(std::uint64_t seed) {
  void* const memory = mmap(nullptr, allBytes(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) return;
  begin_ = static_cast<char*>(memory);
  for (std::uint64_t i = 0; i < allBytes(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = base::mixed(seed, i);
    std::memcpy(begin_ + i, &word, sizeof word);
  }
}

AccessMemory::~AccessMemory() {
  if (begin_ != nullptr) munmap(begin_, allBytes());
}

char* AccessMemory::next(std::uint64_t bytes, std::uint64_t unit, std::uint64_t after) {
  std::uint64_t offset = (free_ + unit - 1) / unit * unit + after;
  if (offset + bytes > allBytes()) offset = after;
  free_ = offset + bytes;
  return begin_ + offset;
}

char* AccessMemory::nextBlock(std::uint64_t bytes) {
  if (bytes >= kMapped) return next(bytes, pageBytes(), kHead);
  char* const block = next(std::max(bytes, kLeast), kUnit, 0);
  free_ += kSizeField;
  return block;
}

char* AccessMemory::nextPages(std::uint64_t bytes) { return next(bytes, pageBytes(), 0); }

}  // namespace omnio::predict
