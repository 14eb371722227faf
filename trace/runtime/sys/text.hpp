// Text put together in a fixed buffer: what does not fit is left out, and nothing is allocated.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {

class Text {
 public:
  // Always leaves room for a closing NUL.
  Text(char* buffer, std::size_t bytes) : buffer_(buffer), limit_(bytes - 1) { buffer_[0] = '\0'; }

  Text& put(std::string_view words) {
    const std::size_t n = words.size() < limit_ - used_ ? words.size() : limit_ - used_;
    std::memcpy(buffer_ + used_, words.data(), n);
    used_ += n;
    buffer_[used_] = '\0';
    return *this;
  }
  Text& putByte(char c) { return put({&c, 1}); }
  Text& putNumber(std::uint64_t value) { return putDigits(value, 10, 1); }
  Text& putSigned(std::int64_t value) {
    if (value < 0) putByte('-');
    return putNumber(value < 0 ? 0 - static_cast<std::uint64_t>(value)
                               : static_cast<std::uint64_t>(value));
  }
  Text& putHex(std::uint64_t value, int width) { return putDigits(value, 16, width); }

  // Where the next byte goes; a caller that writes room() bytes or less there then skips them.
  char* end() { return buffer_ + used_; }
  Text& skip(std::size_t bytes) {
    used_ += bytes;
    buffer_[used_] = '\0';
    return *this;
  }

  const char* c_str() const { return buffer_; }
  std::string_view words() const { return {buffer_, used_}; }
  std::size_t size() const { return used_; }
  std::size_t room() const { return limit_ - used_; }
  bool isFull() const { return used_ == limit_; }

 private:
  Text& putDigits(std::uint64_t value, unsigned base, int width) {
    char digits[20];
    int n = 0;
    while (n < width || value > 0) {
      digits[sizeof digits - 1 - static_cast<std::size_t>(n++)] = "0123456789abcdef"[value % base];
      value /= base;
    }
    return put({digits + sizeof digits - n, static_cast<std::size_t>(n)});
  }

  char* buffer_;
  std::size_t limit_;
  std::size_t used_ = 0;
};

// The last component of a path.
inline std::string_view fileName(std::string_view path) {
  // No substr(): it would need the C++ library.
  if (const std::size_t slash = path.rfind('/'); slash != path.npos) path.remove_prefix(slash + 1);
  return path;
}

// Text of any length, put together in memory of its own: a little of it here, more from the kernel.
// Nothing is allocated otherwise, and nothing is cut off silently: what finds no room makes the
// whole text unusable.
class LongText {
 public:
  static constexpr std::size_t kMost = std::size_t{64} << 20;

  LongText() = default;
  LongText(const LongText&) = delete;
  LongText& operator=(const LongText&) = delete;
  ~LongText() {
    if (data_ != near_) unmap(data_, room_);
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
    char digits[24];
    return put(Text(digits, sizeof digits).putSigned(value).words());
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
    if (data_ == near_) {
      void* const memory = mapAnonymous(wanted);
      if (memory == nullptr) return is_whole_ = false;
      std::memcpy(memory, near_, used_);
      data_ = static_cast<char*>(memory);
    } else {
      const long memory = rawSyscall(SYS_mremap, address(data_), room_, wanted, MREMAP_MAYMOVE);
      if (isError(memory)) return is_whole_ = false;
      data_ = reinterpret_cast<char*>(memory);
    }
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
