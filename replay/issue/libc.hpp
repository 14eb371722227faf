// The C library's own functions, past any preloaded tracer: for what the replayer does with streams
// and directories on its own account. Also the symbols that a replay reissues, which do pass the
// tracer.
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "core/wire/moved_bytes.hpp"

namespace omnio::replay {

struct OwnLibc {
  FILE* (*fdopen)(int, const char*) = nullptr;
  FILE* (*fopen)(const char*, const char*) = nullptr;
  int (*fclose)(FILE*) = nullptr;
  int (*fflush)(FILE*) = nullptr;
  int (*fgetpos64)(FILE*, fpos64_t*) = nullptr;
  off64_t (*ftello)(FILE*) = nullptr;
  int (*fseeko)(FILE*, off64_t, int) = nullptr;
  std::size_t (*fread)(void*, std::size_t, std::size_t, FILE*) = nullptr;
  std::size_t (*fwrite)(const void*, std::size_t, std::size_t, FILE*) = nullptr;
  DIR* (*fdopendir)(int) = nullptr;
  int (*closedir)(DIR*) = nullptr;
  long (*syscall)(long, ...) = nullptr;
};

// Looked up once; a function that is not found stays null.
const OwnLibc& ownLibc();

}  // namespace omnio::replay

namespace omnio::replay::raw {

// System calls that do not pass the C library's symbols: what the replayer does for itself
// (preparing files, reading its programs) does not belong to the recorded run, so the preloaded
// tracer must not see it.
template <typename... A>
long systemCall(long number, A... arguments) {
  return ownLibc().syscall(number, arguments...);
}
inline int openAt(int directory, const char* path, int flags, unsigned mode = 0) {
  return static_cast<int>(systemCall(SYS_openat, directory, path, flags, mode));
}
inline int closeFd(int fd) { return static_cast<int>(systemCall(SYS_close, fd)); }
inline int mkdirAt(int directory, const char* path, unsigned mode) {
  return static_cast<int>(systemCall(SYS_mkdirat, directory, path, mode));
}
inline int renameAt(int from_dir, const char* from, int to_dir, const char* to) {
  return static_cast<int>(systemCall(SYS_renameat2, from_dir, from, to_dir, to, 0U));
}
inline int duplicate(int fd, int at_least) {
  return static_cast<int>(systemCall(SYS_fcntl, fd, F_DUPFD, at_least));
}
inline std::int64_t seek(int fd, std::int64_t offset, int whence) {
  return systemCall(SYS_lseek, fd, offset, whence);
}
inline int lock(int fd, int command, struct flock& range) {
  return static_cast<int>(systemCall(SYS_fcntl, fd, command, &range));
}
inline int lockWhole(int fd, int operation) {
  return static_cast<int>(systemCall(SYS_flock, fd, operation));
}
inline int syncData(int fd) { return static_cast<int>(systemCall(SYS_fdatasync, fd)); }
inline int syncFileSystem(int fd) { return static_cast<int>(systemCall(SYS_syncfs, fd)); }
inline int adviseDontNeed(int fd) {
  return static_cast<int>(systemCall(SYS_fadvise64, fd, 0L, 0L, POSIX_FADV_DONTNEED));
}
inline int setLength(int fd, std::uint64_t bytes) {
  return static_cast<int>(systemCall(SYS_ftruncate, fd, bytes));
}
inline int changeDirectory(int fd) { return static_cast<int>(systemCall(SYS_fchdir, fd)); }
inline int thread() { return static_cast<int>(systemCall(SYS_gettid)); }

// Between these two, the tracer of the process records nothing, whatever passes it: the file system
// library of C++ and MPI libraries make calls of their own. Without a tracer they have no effect.
inline void beginOwnWork() { posix_madvise(nullptr, wire::kControlKey, wire::kOwnWorkBegins); }
inline void endOwnWork() { posix_madvise(nullptr, wire::kControlKey, wire::kOwnWorkEnds); }

// Bytes that the two functions below have moved.
inline std::atomic<std::uint64_t> bytes_read{0};
inline std::atomic<std::uint64_t> bytes_written{0};

// Bytes that were read; fewer only at the end of the file, -1 and errno when it cannot be read.
inline std::int64_t readWholeAt(int fd, char* out, std::size_t bytes, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < bytes) {
    const long n = systemCall(SYS_pread64, fd, out + done, bytes - done, offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    bytes_read.fetch_add(static_cast<std::uint64_t>(n), std::memory_order_relaxed);
    done += static_cast<std::size_t>(n);
  }
  return static_cast<std::int64_t>(done);
}

// False with errno when not all could be written.
inline bool writeWholeAt(int fd, const char* data, std::size_t bytes, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < bytes) {
    const long n = systemCall(SYS_pwrite64, fd, data + done, bytes - done, offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (n == 0) errno = ENOSPC;
      return false;
    }
    bytes_written.fetch_add(static_cast<std::uint64_t>(n), std::memory_order_relaxed);
    done += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace omnio::replay::raw

namespace omnio::replay {

// The function that a call by that name reaches here; nullptr without such a symbol.
void* symbolNamed(const char* name);

}  // namespace omnio::replay
