// The process's own memory, read through the kernel: what is not there, or is gone in the middle,
// is an error and no signal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {

// Opens "/proc/self/NAME", also for a child that lends its descriptors, which is another process.
// Returns the descriptor, or -errno.
long openOwn(const char* name);

class OwnMemory {
 public:
  OwnMemory() : fd_(openOwn("mem")) {}
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;
  ~OwnMemory() {
    if (fd_ >= 0) rawSyscall(SYS_close, fd_);
  }

  // Why nothing can be read: -errno, or 0.
  long error() const { return fd_ < 0 ? fd_ : 0; }

  // False when not all of it could be read.
  bool read(std::uintptr_t from, void* to, std::size_t bytes) const {
    return readSome(from, to, bytes) == bytes;
  }
  // Returns how many bytes there are, up to so many; 0 where there are none.
  std::size_t readSome(std::uintptr_t from, void* to, std::size_t bytes) const {
    const long got = rawSyscall(SYS_pread64, fd_, address(to), static_cast<long>(bytes),
                                static_cast<long>(from));
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }

 private:
  const long fd_;
};

}  // namespace omnio::trace
