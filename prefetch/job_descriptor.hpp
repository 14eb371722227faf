// A descriptor of a process of the job, and the file that it stood for when it was used last: the
// way to that file, also where its name is gone.
//
// The number may stand for another file by now. Then, and where it or its process is gone, there is
// nothing to be had through it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/file.hpp"

namespace omnio::prefetch {

// A file, as the kernel tells it apart.
struct FileKey {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  auto operator<=>(const FileKey&) const = default;
};

struct JobDescriptor {
  std::uint32_t pid = 0;
  int fd = -1;
  FileKey file = {};

  std::string path() const;  // /proc/PID/fd/N
  // As stat(2) has them, of a regular file.
  std::optional<struct stat> facts() const;
  // For reading. None also where the process has a lease by this descriptor: an open would break
  // one for writing (fcntl(2)), and the signal that tells of it ends a program without a handler.
  // With such a lease there is no other open of the file to ask.
  base::Descriptor open() const;
};

}  // namespace omnio::prefetch
