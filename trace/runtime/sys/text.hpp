// Text put together in a fixed buffer: what does not fit is left out, and nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

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
  Text& putHex(std::uint64_t value, int width) { return putDigits(value, 16, width); }

  // Where the next byte goes; a caller that writes room() bytes or less there then skips them.
  char* end() { return buffer_ + used_; }
  Text& skip(std::size_t bytes) {
    used_ += bytes;
    buffer_[used_] = '\0';
    return *this;
  }

  const char* c_str() const { return buffer_; }
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

}  // namespace omnio::trace
