// Files of the system: open ones, which are closed with their objects, and reading and writing
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "core/base/result.hpp"

namespace omnio::base {

// An open file. Moved, not copied.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

// A regular file that is open for reading at any place.
class File {
 public:
  // Follows links.
  static Result<File> open(const std::filesystem::path& path);
  explicit File(Descriptor file) : file_(std::move(file)) {}

  // Tells files apart: a name may come to be another file's.
  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    bool operator==(const Identity&) const = default;
  };
  Identity identity() const;

  // Bytes at the moment of the question: a file of a running process grows.
  std::uint64_t size() const;

  // Reads up to `bytes` bytes at `offset`; fewer at the end of the file or where the device fails.
  std::size_t readAt(std::uint64_t offset, void* out, std::size_t bytes) const;

  // The first place at or after `offset` that is not in a hole, or the size when there is none.
  std::uint64_t nextData(std::uint64_t offset) const;

 private:
  Descriptor file_;
};

// Writes all of `data` at `offset`. Returns 0 or an errno value. The signal that comes with a
// file-size limit is kept from the caller, whatever the caller does with signals.
int writeAll(int fd, const char* data, std::size_t bytes, std::uint64_t offset);

// Lets this process open as many files as the system allows it to (the hard limit of
// RLIMIT_NOFILE): reading the logs of many ranks at once takes a file for each. Where that is not
// enough, logs that cannot be read are counted as missing.
void raiseOpenFileLimit();
// How many files this process may have open now.
std::uint64_t openFileLimit();

}  // namespace omnio::base
