// syscall(2): calls on files that a program makes by their number. Each is recorded as the C
// library's function that makes the same system call, which is also what a replay reissues. (The
// exported function is in sandbox.cpp: no frame of ours may be under those that are not recorded.)
#include "trace/wrap/system_calls.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include <array>
#include <cstdint>
#include <utility>

#include "trace/wrap/intercept.hpp"
#include "trace/wrap/send_file.hpp"

#if defined(__x86_64__)

// System calls that have the arguments of the C library's function of the same name, or of another
// one: number, function.
#define OMNIO_SYSTEM_CALLS(CALL)         \
  CALL(read, read)                       \
  CALL(pread64, pread64)                 \
  CALL(readv, readv)                     \
  CALL(preadv, preadv64)                 \
  CALL(write, write)                     \
  CALL(pwrite64, pwrite64)               \
  CALL(writev, writev)                   \
  CALL(pwritev, pwritev64)               \
  CALL(copy_file_range, copy_file_range) \
  CALL(lseek, lseek64)                   \
  CALL(creat, creat64)                   \
  CALL(close, close)                     \
  CALL(dup, dup)                         \
  CALL(dup2, dup2)                       \
  CALL(dup3, dup3)                       \
  CALL(flock, flock)                     \
  CALL(fsync, fsync)                     \
  CALL(fdatasync, fdatasync)             \
  CALL(syncfs, syncfs)                   \
  CALL(sync_file_range, sync_file_range) \
  CALL(truncate, truncate64)             \
  CALL(ftruncate, ftruncate64)           \
  CALL(fallocate, fallocate64)           \
  CALL(readahead, readahead)             \
  CALL(unlink, unlink)                   \
  CALL(unlinkat, unlinkat)               \
  CALL(rename, rename)                   \
  CALL(renameat, renameat)               \
  CALL(renameat2, renameat2)             \
  CALL(mkdir, mkdir)                     \
  CALL(mkdirat, mkdirat)                 \
  CALL(mknod, mknod)                     \
  CALL(mknodat, mknodat)                 \
  CALL(rmdir, rmdir)                     \
  CALL(link, link)                       \
  CALL(linkat, linkat)                   \
  CALL(symlink, symlink)                 \
  CALL(symlinkat, symlinkat)             \
  CALL(readlink, readlink)               \
  CALL(readlinkat, readlinkat)           \
  CALL(stat, stat64)                     \
  CALL(lstat, lstat64)                   \
  CALL(fstat, fstat64)                   \
  CALL(statfs, statfs64)                 \
  CALL(fstatfs, fstatfs64)               \
  CALL(access, access)                   \
  CALL(chmod, chmod)                     \
  CALL(fchmod, fchmod)                   \
  CALL(chown, chown)                     \
  CALL(fchown, fchown)                   \
  CALL(lchown, lchown)                   \
  CALL(fchownat, fchownat)               \
  CALL(utime, utime)                     \
  CALL(utimes, utimes)                   \
  CALL(futimesat, futimesat)             \
  CALL(setxattr, setxattr)               \
  CALL(lsetxattr, lsetxattr)             \
  CALL(fsetxattr, fsetxattr)             \
  CALL(getxattr, getxattr)               \
  CALL(lgetxattr, lgetxattr)             \
  CALL(fgetxattr, fgetxattr)             \
  CALL(listxattr, listxattr)             \
  CALL(llistxattr, llistxattr)           \
  CALL(flistxattr, flistxattr)           \
  CALL(removexattr, removexattr)         \
  CALL(lremovexattr, lremovexattr)       \
  CALL(fremovexattr, fremovexattr)
// The same with other arguments than the function, or with more of them.
#define OMNIO_OTHER_SYSTEM_CALLS(CALL) \
  CALL(open)                           \
  CALL(openat)                         \
  CALL(openat2)                        \
  CALL(preadv2)                        \
  CALL(pwritev2)                       \
  CALL(faccessat)                      \
  CALL(faccessat2)                     \
  CALL(fchmodat)                       \
  CALL(newfstatat)                     \
  CALL(statx)                          \
  CALL(utimensat)                      \
  CALL(chdir)                          \
  CALL(sendfile)                       \
  CALL(fcntl)                          \
  CALL(bind)                           \
  CALL(fchdir)                         \
  CALL(sync)

namespace omnio::trace {
namespace {

constexpr std::array<std::uint8_t, kSystemCallLimit> markedCalls() {
  std::array<std::uint8_t, kSystemCallLimit> marked{};
#define OMNIO_MARK(NUMBER, ...) marked[SYS_##NUMBER] = 1;
  OMNIO_SYSTEM_CALLS(OMNIO_MARK)
  OMNIO_OTHER_SYSTEM_CALLS(OMNIO_MARK)
#undef OMNIO_MARK
  return marked;
}

using Given = std::array<long, 6>;

long passOn(long number, const Given& given) {
  auto* const real = reinterpret_cast<long (*)(long, ...)>(omnioRealSyscall());
  return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

template <typename A>
A argumentFrom(long value) {
  if constexpr (std::is_pointer_v<A>) {
    return reinterpret_cast<A>(value);
  } else {
    return static_cast<A>(value);
  }
}

// Records the call with these arguments of the function, and passes on what was given.
template <CallId kCall, typename R, typename... A>
long recordedAs(long number, const Given& given, A... arguments) {
  return interceptWith<kCall, R>(
      [number, &given](A...) { return static_cast<R>(passOn(number, given)); }, arguments...);
}

// As the function declares them.
template <CallId kCall, typename R, typename... A>
long recordedLike(R (*)(A...), long number, const Given& given) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return recordedAs<kCall, R>(number, given, argumentFrom<A>(given[i])...);
  }
  (std::index_sequence_for<A...>{});
}

void changedDirectory() {
  if (isActive() && mayRecord(thread)) workingDirectoryChanged();
}

}  // namespace

extern "C" {
// Before a system call of the sandbox's that makes a child with its parent's memory.
__attribute__((visibility("hidden"), used)) void* omnioBeforeRawVfork() {
  omnioBeforeVfork();
  return omnioRealSyscall();
}
extern __attribute__((visibility("hidden"))) const std::array<std::uint8_t, kSystemCallLimit>
    omnio_recorded_calls;
__attribute__((used)) constinit const std::array<std::uint8_t, kSystemCallLimit>
    omnio_recorded_calls = markedCalls();

__attribute__((visibility("hidden"), used)) long omnioSystemCall(long number, long a, long b,
                                                                 long c, long d, long e, long f) {
  const Given given{a, b, c, d, e, f};
  const auto path = [](long value) { return reinterpret_cast<const char*>(value); };
  const auto number32 = [](long value) { return static_cast<int>(value); };
  const auto mode = [](long value) { return static_cast<mode_t>(value); };
  const auto modeOf = [](long flags, long value) {
    return takesMode(static_cast<int>(flags)) ? static_cast<mode_t>(value) : 0;
  };
  switch (number) {
#define OMNIO_CASE(NUMBER, FUNCTION) \
  case SYS_##NUMBER:                 \
    return recordedLike<CallId::FUNCTION>(&::FUNCTION, number, given);
    OMNIO_SYSTEM_CALLS(OMNIO_CASE)
#undef OMNIO_CASE
    case SYS_open:
      return recordedAs<CallId::open64, int>(number, given, path(a), number32(b), modeOf(b, c));
    case SYS_openat:
      return recordedAs<CallId::openat64, int>(number, given, number32(a), path(b), number32(c),
                                               modeOf(c, d));
    case SYS_openat2: {
      // What else it asks for may be why it fails, where openat does not.
      if (static_cast<std::size_t>(d) != sizeof(open_how)) break;
      if (!isReadableMemory(reinterpret_cast<const void*>(c), sizeof(open_how))) break;
      const auto& how = *reinterpret_cast<const open_how*>(c);
      constexpr std::uint64_t kKnownFlags = 0x7FFFFF;
      if (how.resolve != 0 || (how.flags & ~kKnownFlags) != 0) break;
      return recordedAs<CallId::openat64, int>(number, given, number32(a), path(b),
                                               static_cast<int>(how.flags),
                                               static_cast<mode_t>(how.mode));
    }
    case SYS_sendfile:
      if (isReadBySendfile(number32(a), number32(b))) {
        return readBySendfile(
            [number, &given] { return static_cast<ssize_t>(passOn(number, given)); }, number32(b),
            reinterpret_cast<off64_t*>(c), static_cast<std::size_t>(d));
      }
      return recordedAs<CallId::sendfile64, ssize_t>(number, given, number32(a), number32(b),
                                                     reinterpret_cast<off64_t*>(c),
                                                     static_cast<std::size_t>(d));
    case SYS_preadv2:
      return recordedAs<CallId::preadv64v2, ssize_t>(number, given, number32(a),
                                                     reinterpret_cast<const iovec*>(b), number32(c),
                                                     static_cast<off64_t>(d), number32(f));
    case SYS_pwritev2:
      return recordedAs<CallId::pwritev64v2, ssize_t>(
          number, given, number32(a), reinterpret_cast<const iovec*>(b), number32(c),
          static_cast<off64_t>(d), number32(f));
    case SYS_newfstatat: {
      auto* const facts = reinterpret_cast<struct stat64*>(c);
      // As fstat does it.
      if (b == 0) return recordedAs<CallId::fstat64, int>(number, given, number32(a), facts);
      return recordedAs<CallId::fstatat64, int>(number, given, number32(a), path(b), facts,
                                                number32(d));
    }
    case SYS_statx:
      return recordedAs<CallId::statx, int>(number, given, number32(a), b == 0 ? "" : path(b),
                                            number32(c), static_cast<unsigned>(d),
                                            reinterpret_cast<struct statx*>(e));
    case SYS_utimensat: {
      const auto* const times = reinterpret_cast<const timespec*>(c);
      // As futimens does it.
      if (b == 0) return recordedAs<CallId::futimens, int>(number, given, number32(a), times);
      return recordedAs<CallId::utimensat, int>(number, given, number32(a), path(b), times,
                                                number32(d));
    }
    case SYS_chdir: {
      const DirectoryBefore before;
      const long result = recordedAs<CallId::chdir, int>(number, given, path(a));
      if (result == 0) changedDirectory();
      return result;
    }
    case SYS_fchdir: {
      const long result = recordedAs<CallId::fchdir, int>(number, given, number32(a));
      if (result == 0) changedDirectory();
      return result;
    }
    case SYS_fcntl:
      // Other commands are about descriptors and no files.
      if (b != F_DUPFD && b != F_DUPFD_CLOEXEC) break;
      return ::fcntl(number32(a), number32(b), number32(c));
    case SYS_bind:
      return ::bind(number32(a), reinterpret_cast<const sockaddr*>(b), static_cast<socklen_t>(c));
    case SYS_sync:
      interceptWith<CallId::sync, void>([number, &given] { passOn(number, given); });
      return 0;
    case SYS_faccessat2:
      return recordedAs<CallId::faccessat, int>(number, given, number32(a), path(b), number32(c),
                                                number32(d));
    case SYS_faccessat:
      return recordedAs<CallId::faccessat, int>(number, given, number32(a), path(b), number32(c),
                                                0);
    case SYS_fchmodat:
      return recordedAs<CallId::fchmodat, int>(number, given, number32(a), path(b), mode(c), 0);
    default:
      break;
  }
  return passOn(number, given);
}
}

}  // namespace omnio::trace

#endif
