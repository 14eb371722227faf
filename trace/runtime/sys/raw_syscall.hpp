// System calls that leave no trace of their own: no errno, no cancellation point, no symbol that
// another preloaded library could have replaced. Results are as the kernel gives them: -errno.
// Calls that would hurt the process (forbidden_calls.hpp) are not made, and fail with EPERM.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/runtime/sys/forbidden_calls.hpp"
#include "trace/runtime/sys/thread_sanitizer.hpp"

namespace omnio::trace {

// Bytes that system calls of the tracer's own have moved: the kernel counts them as the process's.
struct OwnBytes {
  std::atomic<std::uint64_t> read{0};
  std::atomic<std::uint64_t> written{0};
};
inline constinit OwnBytes own_bytes;

// `number` is known when the program is compiled.
[[gnu::always_inline]] inline void countOwnBytes(long number, long result) {
  const bool reads = number == SYS_read || number == SYS_pread64;
  const bool writes = number == SYS_write || number == SYS_pwrite64 || number == SYS_pwritev;
  if ((!reads && !writes) || result <= 0) return;
  (reads ? own_bytes.read : own_bytes.written)
      .fetch_add(static_cast<std::uint64_t>(result), std::memory_order_relaxed);
}

#if defined(__x86_64__)

inline long rawSyscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                       long f = 0) {
  if (isForbidden(number)) [[unlikely]]
    return -EPERM;
  long result;
#ifdef OMNIO_THREAD_SANITIZER
  if (mappedByLibrary(number, {a, b, c, d, e, f}, result)) return result;
#endif
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  countOwnBytes(number, result);
  return result;
}

#elif defined(__aarch64__)

inline long rawSyscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                       long f = 0) {
  if (isForbidden(number)) [[unlikely]]
    return -EPERM;
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  countOwnBytes(number, x0);
  return x0;
}

#else
#error "the tracer knows x86-64 and aarch64"
#endif

template <typename T>
long address(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

// Whether the result of a system call is -errno. An address above half of memory is negative too,
// so the sign alone does not say it.
constexpr bool isError(long result) { return result < 0 && result > -4096; }

// Zeroed memory for reading and writing, which the caller unmaps; nullptr where there is none.
// `flags` replaces MAP_PRIVATE or adds to it.
inline void* mapAnonymous(std::size_t bytes, int flags = MAP_PRIVATE) {
  const long memory = rawSyscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                 MAP_ANONYMOUS | flags, -1, 0);
  return isError(memory) ? nullptr : reinterpret_cast<void*>(memory);
}

inline void unmap(void* memory, std::size_t bytes) {
  rawSyscall(SYS_munmap, address(memory), static_cast<long>(bytes));
}

// Returns the memory that `slot` points to. Where there is none yet, maps zeroed memory, which is
// never unmapped; nullptr when memory runs out.
template <typename T>
T* mappedOnce(std::atomic<T*>& slot, std::size_t bytes) {
  T* there = slot.load(std::memory_order_acquire);
  if (there != nullptr) return there;
  auto* const fresh = static_cast<T*>(mapAnonymous(bytes));
  if (fresh == nullptr) return nullptr;
  if (slot.compare_exchange_strong(there, fresh)) return fresh;
  unmap(fresh, bytes);  // another thread was quicker
  return there;
}

// Reads a file, or its first `bytes`; returns how many, or -errno.
inline long readFile(const char* path, char* out, std::size_t bytes) {
  const long fd = rawSyscall(SYS_openat, AT_FDCWD, address(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  std::size_t used = 0;
  while (used < bytes) {
    const long got = rawSyscall(SYS_read, fd, address(out + used), static_cast<long>(bytes - used));
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
  }
  rawSyscall(SYS_close, fd);
  return static_cast<long>(used);
}

}  // namespace omnio::trace
