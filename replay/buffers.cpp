#include "replay/buffers.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "replay/content.hpp"

namespace omnio::replay {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kCacheLine = 64;
// Behind the largest request: each call begins at another place, so that small writes differ too.
constexpr std::size_t kSlack = 64 * 1024;

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

std::optional<Failure> Buffers::reserve(const PlannedThread& thread, std::uint64_t seed) {
  const auto memory_bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                            static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (thread.write_request > memory_bytes) {
    return Failure{Code::kInvalid,
                   fmt::format("a write of {} bytes is more than this node's memory ({} bytes)",
                               thread.write_request, memory_bytes)};
  }
  read_bytes_ = wholePages(thread.read_request + 1);
  write_room_ = static_cast<std::size_t>(thread.write_request);
  write_bytes_ = wholePages(thread.write_request + kSlack + 1);
  for (const auto& [memory, bytes] : {std::pair{&read_, read_bytes_}, {&write_, write_bytes_}}) {
    *memory = map(bytes);
    if (*memory != nullptr) continue;
    return Failure{Code::kSystem, fmt::format("no memory for requests of {} bytes: {}", bytes,
                                              std::generic_category().message(errno))};
  }
  // A read that asks for a gigabyte and gets a line does not need a gigabyte.
  for (std::size_t at = 0; at < thread.read_moved; at += kPage) read_[at] = 1;
  if (thread.write_request > 0) {
    const std::span<char> all(write_, write_bytes_);
    fillContent(~seed, 0, all);
    for (char& byte : all) {
      if (byte == '\0' || byte == '\n') byte = static_cast<char>(byte ^ 0x55);
    }
  }
  stamp_ = seed << 40;
  return std::nullopt;
}

std::span<char> Buffers::forWrite(std::size_t bytes, bool aligned) {
  ++stamp_;
  const std::size_t place = aligned ? 0 : stamp_ * 5 * kCacheLine % kSlack;
  const std::span<char> content(write_ + place, std::min(bytes, write_room_));
  stampBlocks(stamp_, content);
  return content;
}

}  // namespace omnio::replay
