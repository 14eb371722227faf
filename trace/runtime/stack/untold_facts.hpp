// Facts that the log does not have yet: it could not be written, or is not to be waited for. For
// one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace omnio::trace {

// Zeroed memory has no facts.
template <std::size_t kBytes>
class UntoldFacts {
 public:
  bool isEmpty() const { return begin_ == end_; }

  // False when it finds no room.
  bool add(std::string_view key, std::string_view value) {
    const std::uint32_t bytes = static_cast<std::uint32_t>(key.size() + value.size() + 2);
    if (kBytes - end_ < sizeof bytes + bytes) {
      std::memmove(data_, data_ + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (kBytes - end_ < sizeof bytes + bytes) return false;
    char* out = data_ + end_;
    std::memcpy(out, &bytes, sizeof bytes);
    out += sizeof bytes;
    std::memcpy(out, key.data(), key.size());
    out[key.size()] = '\0';
    out += key.size() + 1;
    std::memcpy(out, value.data(), value.size());
    out[value.size()] = '\0';
    end_ += sizeof bytes + bytes;
    return true;
  }

  // Copies the first facts, as many as find room: "key\0value\0...".
  struct Copied {
    std::size_t bytes = 0;
    std::uint64_t first = 0;  // their numbers, of all facts that were ever added
    std::uint32_t count = 0;
  };
  Copied copy(char* to, std::size_t room) const {
    Copied copied{.bytes = 0, .first = told_, .count = 0};
    for (std::size_t at = begin_; at < end_; ++copied.count) {
      const std::uint32_t bytes = bytesAt(at);
      if (bytes > room - copied.bytes) break;
      std::memcpy(to + copied.bytes, data_ + at + sizeof bytes, bytes);
      copied.bytes += bytes;
      at += sizeof bytes + bytes;
    }
    return copied;
  }

  // The log has them. Another may have told some of them meanwhile.
  void told(const Copied& facts) {
    while (told_ < facts.first + facts.count && begin_ < end_) {
      begin_ += sizeof(std::uint32_t) + bytesAt(begin_);
      ++told_;
    }
  }

 private:
  std::uint32_t bytesAt(std::size_t at) const {
    std::uint32_t bytes;
    std::memcpy(&bytes, data_ + at, sizeof bytes);
    return bytes;
  }

  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t told_ = 0;  // how many facts
  char data_[kBytes];
};

}  // namespace omnio::trace
