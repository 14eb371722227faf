// Text of any length, put together in memory of its own: a little of it here, more from the kernel.
// Nothing is allocated otherwise, and nothing is cut off silently: what finds no room makes the
// whole text unusable.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {

class LongText {
 public:
  static constexpr std::size_t kMost = std::size_t{64} << 20;

  LongText() = default;
  LongText(const LongText&) = delete;
  LongText& operator=(const LongText&) = delete;
  ~LongText() {
    if (data_ != near_) rawSyscall(SYS_munmap, reinterpret_cast<long>(data_), room_);
  }

  bool isWhole() const { return is_whole_; }
  void giveUp() { is_whole_ = false; }

  LongText& put(std::string_view words) {
    if (!haveRoom(words.size())) return *this;
    std::memcpy(data_ + used_, words.data(), words.size());
    used_ += words.size();
    return *this;
  }
  LongText& put(char c) { return put(std::string_view(&c, 1)); }
  LongText& putNumber(std::int64_t value) {
    char digits[21];
    char* at = digits + sizeof digits;
    auto rest =
        value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    do {
      *--at = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest > 0);
    if (value < 0) *--at = '-';
    return put(std::string_view(at, static_cast<std::size_t>(digits + sizeof digits - at)));
  }

  char* data() { return data_; }
  std::size_t size() const { return used_; }
  // One byte behind the text may be written too.
  bool endsWithRoom() { return haveRoom(1); }

 private:
  bool haveRoom(std::size_t bytes) {
    if (bytes <= room_ - used_) return is_whole_;
    std::size_t wanted = room_;
    while (wanted - used_ < bytes && wanted <= kMost) wanted *= 4;
    if (!is_whole_ || wanted > kMost) return is_whole_ = false;
    const long memory = data_ == near_ ? rawSyscall(SYS_mmap, 0, wanted, PROT_READ | PROT_WRITE,
                                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                       : rawSyscall(SYS_mremap, reinterpret_cast<long>(data_),
                                                    room_, wanted, MREMAP_MAYMOVE);
    if (memory < 0 && memory > -4096) return is_whole_ = false;
    if (data_ == near_) std::memcpy(reinterpret_cast<char*>(memory), near_, used_);
    data_ = reinterpret_cast<char*>(memory);
    room_ = wanted;
    return true;
  }

  char near_[1024];
  char* data_ = near_;
  std::size_t room_ = sizeof near_;
  std::size_t used_ = 0;
  bool is_whole_ = true;
};

}  // namespace omnio::trace
