// A file open for reading at any place. Closed with the object; moved, not copied.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "core/base/result.hpp"

namespace omnio::base {

class File {
 public:
  static Result<File> open(const std::filesystem::path& path);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

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
  std::size_t readAt(std::uint64_t offset, char* out, std::size_t bytes) const;

  // The first place at or after `offset` that is not in a hole, or the size when there is none.
  std::uint64_t nextData(std::uint64_t offset) const;

 private:
  explicit File(int fd) : fd_(fd) {}
  int fd_ = -1;
};

// Writing that is complete or says why not.
// Writes all of `data` at `offset`. Returns 0 or an errno value. The signal that comes with a
// file-size limit is kept from the caller, whatever he does with signals.
int writeAll(int fd, const char* data, std::size_t bytes, std::uint64_t offset);

// Reading the logs of many ranks at once takes a file for each.
// Lets this process open as many files as the system allows it to (the hard limit of
// RLIMIT_NOFILE). Where that is not enough, what cannot be read is counted as missing.
void raiseOpenFileLimit();

}  // namespace omnio::base
