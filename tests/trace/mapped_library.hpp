// A shared library in memory as the loader would have it, but for relocations; nothing of it runs.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "trace/runtime/stack/frame_table.hpp"

namespace omnio::trace {

class MappedLibrary {
 public:
  // isThere() is false when the file is missing.
  explicit MappedLibrary(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    Elf64_Ehdr head{};
    EXPECT_EQ(pread(fd, &head, sizeof head, 0), static_cast<ssize_t>(sizeof head));
    Elf64_Phdr segments[32] = {};
    const unsigned count = std::min<unsigned>(head.e_phnum, 32);
    EXPECT_GT(pread(fd, segments, count * sizeof segments[0], static_cast<off_t>(head.e_phoff)), 0);
    for (unsigned i = 0; i < count; ++i) {
      if (segments[i].p_type == PT_LOAD) bytes_ = segments[i].p_vaddr + segments[i].p_memsz;
    }
    void* const memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    base_ = reinterpret_cast<std::uintptr_t>(memory);
    for (unsigned i = 0; i < count; ++i) {
      const Elf64_Phdr& segment = segments[i];
      if (segment.p_type == PT_LOAD) {
        EXPECT_GE(pread(fd, static_cast<char*>(memory) + segment.p_vaddr, segment.p_filesz,
                        static_cast<off_t>(segment.p_offset)),
                  0);
      } else if (segment.p_type == PT_GNU_EH_FRAME) {
        index_ = {.begin = base_ + segment.p_vaddr, .bytes = segment.p_filesz};
      }
    }
    close(fd);
  }
  MappedLibrary(const MappedLibrary&) = delete;
  MappedLibrary& operator=(const MappedLibrary&) = delete;
  ~MappedLibrary() {
    if (bytes_ != 0) munmap(reinterpret_cast<void*>(base_), bytes_);
  }

  bool isThere() const { return bytes_ != 0; }
  std::uintptr_t base() const { return base_; }
  std::size_t bytes() const { return bytes_; }
  FrameIndex index() const { return index_; }
  unsigned char* at(std::uintptr_t address) const {
    return reinterpret_cast<unsigned char*>(address);
  }

 private:
  std::uintptr_t base_ = 0;
  std::size_t bytes_ = 0;
  FrameIndex index_;
};

// Debian's libraries, as far as they are there.
inline constexpr const char* kLibraries[] = {
    "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libhdf5_serial.so.103",
    "/usr/lib/x86_64-linux-gnu/libmpi.so.40", "/usr/lib/x86_64-linux-gnu/libmpich.so.12",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"};

}  // namespace omnio::trace
