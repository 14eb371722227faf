// Memory for the length of a function: on the stack as long as it is little, else the kernel's.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

#include "trace/runtime/raw_syscall.hpp"

namespace omnio::trace {

template <typename T, std::size_t kOnStack>
class Scratch {
 public:
  explicit Scratch(std::size_t count) : data_(little_), bytes_(0) {
    if (count <= kOnStack) return;
    const std::size_t bytes = count * sizeof(T);
    const long memory = rawSyscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory < 0 && memory > -4096) {
      data_ = nullptr;
      return;
    }
    data_ = reinterpret_cast<T*>(memory);
    bytes_ = bytes;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (bytes_ != 0) rawSyscall(SYS_munmap, address(data_), static_cast<long>(bytes_));
  }

  // False when there was no memory.
  explicit operator bool() const { return data_ != nullptr; }
  T* data() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T little_[kOnStack];
  T* data_;
  std::size_t bytes_;
};

}  // namespace omnio::trace
