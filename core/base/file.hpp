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

}  // namespace omnio::base
