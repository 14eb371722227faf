#include "replay/issue/buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "replay/target/prepare.hpp"

namespace omnio::replay {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kCacheLine = 64;
// A read may get more than it got when it was recorded, but not without end: a file that is as
// large as numbers go would take all memory. Past this the kernel finds nothing to write to
// (EFAULT).
constexpr std::size_t kUnrecordedRead = std::size_t{256} << 20;

std::size_t wholePages(std::uint64_t bytes) {
  return (static_cast<std::size_t>(bytes) + kPage) / kPage * kPage;
}

char* map(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

}  // namespace

Buffers::~Buffers() {
  if (read_ != nullptr) munmap(read_, read_bytes_);
  if (write_ != nullptr) munmap(write_, write_bytes_);
}

std::uint64_t Buffers::bytesTouched(const LargestRequests& largest) {
  return largest.read_moved + (largest.write_request == 0 ? 0 : largest.write_request + kSlack);
}

base::Result<void> Buffers::reserve(const LargestRequests& largest, std::uint64_t seed) {
  read_bytes_ = wholePages(largest.read_request + kBehindPage + 1);
  write_room_ = static_cast<std::size_t>(largest.write_request);
  write_bytes_ = wholePages(std::max(largest.write_request, largest.write_failed) + kSlack + 1);
  for (const auto& [memory, bytes] : {std::pair{&read_, read_bytes_}, {&write_, write_bytes_}}) {
    *memory = map(bytes);
    if (*memory != nullptr) continue;
    return base::failure(base::Code::kSystem, "no memory for requests of {} bytes: {}", bytes,
                         std::generic_category().message(errno));
  }
  const std::size_t readable =
      std::max(wholePages(largest.read_moved + kBehindPage + 1), kUnrecordedRead);
  if (read_bytes_ > readable) mprotect(read_ + readable, read_bytes_ - readable, PROT_NONE);
  // A read that asks for a gigabyte and gets a line does not need a gigabyte.
  for (std::size_t at = 0; at < largest.read_moved + kBehindPage; at += kPage) {
    if (largest.read_moved > 0) read_[at] = 1;
  }
  if (largest.write_request > 0) {
    const std::span<char> all(write_, wholePages(largest.write_request + kSlack + 1));
    fillContent(~seed, 0, all);
    for (char& byte : all) {
      if (byte == '\0' || byte == '\n') byte = static_cast<char>(byte ^ 0x55);
    }
  }
  stamp_ = seed << 40;
  return {};
}

std::span<char> Buffers::forWrite(std::size_t bytes, bool aligned) {
  ++stamp_;
  const std::size_t place = aligned ? 0 : stamp_ * 5 * kCacheLine % kSlack;
  const std::span<char> content(write_ + place, std::min(bytes, write_room_));
  stampBlocks(stamp_, content);
  return content;
}

}  // namespace omnio::replay
