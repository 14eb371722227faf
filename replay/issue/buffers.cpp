#include "replay/issue/buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

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

std::uint64_t Buffers::bytesTouched(const LargestRequests& largest, const Content& content) {
  const std::size_t slack = content.isSpread() ? Content::kRing : kSlack;
  return largest.read_moved + (largest.write_request == 0 ? 0 : largest.write_request + slack);
}

base::Result<void> Buffers::reserve(const LargestRequests& largest, std::uint64_t seed,
                                    const Content& content) {
  content_ = content;
  slack_ = content.isSpread() ? Content::kRing : kSlack;
  read_bytes_ = wholePages(largest.read_request + kBehindPage + 1);
  write_room_ = static_cast<std::size_t>(largest.write_request);
  write_bytes_ = wholePages(std::max(largest.write_request, largest.write_failed) + slack_ + 1);
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
    const std::span<char> all(write_, wholePages(largest.write_request + slack_ + 1));
    content.fill(~seed, 0, all);
    if (!content.isZero()) {
      for (char& byte : all) {
        if (byte == '\0' || byte == '\n') byte = static_cast<char>(byte ^ 0x55);
      }
    }
    for (std::size_t block = 0; content.isSpread() && block < all.size() / kPage; ++block) {
      is_copy_.push_back(content.isCopy(block));
    }
  }
  stamp_ = seed << 40;
  return {};
}

std::size_t Buffers::placeFor(std::size_t bytes, bool aligned) {
  ++stamp_;
  if (!content_.isSpread()) return aligned ? 0 : stamp_ * 5 * kCacheLine % kSlack;
  // One request behind the other, and from the beginning again. Whole blocks stay whole, and stamps
  // fall on what is random.
  const std::size_t unit = aligned || bytes >= kPage ? kPage : Content::kPiece;
  const std::size_t begin = aligned ? 0 : content_.beginOf(bytes);
  std::size_t place = (next_ + unit - 1) / unit * unit;
  if (place + begin + bytes > write_room_ + slack_) place = 0;
  next_ = place + begin + bytes;
  return place + begin;
}

void Buffers::restore() {
  if (behind_ != nullptr) *std::exchange(behind_, nullptr) = was_behind_;
  std::ranges::fill(std::exchange(text_, {}), '\0');
}

std::span<char> Buffers::forWrite(std::size_t bytes, bool aligned) {
  restore();
  bytes = std::min(bytes, write_room_);
  const std::size_t place = placeFor(bytes, aligned);
  const std::span<char> content(write_ + place, bytes);
  if (is_copy_.empty()) {
    if (!content_.isZero()) stampBlocks(stamp_, content);
    return content;
  }
  for (std::size_t at = 0; at < bytes; at += kPage) {
    if (is_copy_[(place + at) / kPage]) continue;
    stampBlocks(stamp_, content.subspan(at, std::min(kPage, bytes - at)), at / kPage);
  }
  return content;
}

std::span<char> Buffers::forText(std::size_t bytes, bool aligned) {
  const std::span<char> content = forWrite(bytes, aligned);
  if (content_.isZero()) {
    std::ranges::fill(content, '0');
    text_ = content;
  }
  behind_ = content.data() + content.size();
  was_behind_ = std::exchange(*behind_, '\0');
  return content;
}

}  // namespace omnio::replay
