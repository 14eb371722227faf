// POSIX rows marked custom: variadic calls, calls that end many descriptors, those on streams of
// directories, and those that change the directory that relative paths start from. And the call by
// which an application says what is recorded (trace/api/omnio.h).
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

#include "core/calls/lock_commands.hpp"
#include "core/wire/moved_bytes.hpp"
#include "trace/api/omnio.h"
#include "trace/runtime/moved_bytes.hpp"
#include "trace/runtime/recording_switch.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/send_file.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

bool takesNumber(int command) {
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
    case F_SETFD:
    case F_SETFL:
    case F_SETOWN:
    case F_SETSIG:
    case F_SETLEASE:
    case F_NOTIFY:
    case F_SETPIPE_SZ:
    case F_ADD_SEALS:
      return true;
    default:
      return false;
  }
}

// What is asked for is read before the call: F_GETLK puts its answer there.
template <CallId kCall>
int lockWith(int fd, int command, struct flock* asked) {
  auto* const real = realFunction<kCall, int(int, int, ...)>();
  return interceptWith<CallId::fcntl_lock, int>(
      [real, asked](int of, int what, int, int, off64_t, off64_t) { return real(of, what, asked); },
      fd, command, static_cast<int>(asked->l_type), static_cast<int>(asked->l_whence),
      static_cast<off64_t>(asked->l_start), static_cast<off64_t>(asked->l_len));
}

template <CallId kCall>
int fcntlWith(int fd, int command, void* argument) {
  if (calls::isOfLocks(command) && isReadableMemory(argument, sizeof(struct flock))) {
    return lockWith<kCall>(fd, command, static_cast<struct flock*>(argument));
  }
  // A pointer is passed on but not recorded: it says nothing to anyone else.
  const int result =
      takesNumber(command)
          ? intercept<kCall, int>(fd, command, static_cast<int>(reinterpret_cast<long>(argument)))
          : intercept<kCall, int>(fd, command, argument);
  if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) {
    const Entry source = lookUp(fd);
    if (mayRecord(thread)) {
      releaseHandle(takeOut(result));  // what a library has closed out of our sight
      if (source.isTraced()) duplicateHandle(result, source);
    }
  }
  return result;
}

// -1 for a null pointer. Headers declare that there is none, so without the asm the compiler drops
// the check, and closedir(NULL) crashes in place of returning EINVAL.
int directoryDescriptor(DIR* directory) {
  asm("" : "+r"(directory));
  return directory == nullptr ? -1 : dirfd(directory);
}

// Records a close of its own for each traced descriptor that the call ends. They are taken out
// before, as a single one is: another thread may get their numbers at once.
template <CallId kCall, typename Close>
int closeMany(unsigned first, unsigned last, Close close_range_of) {
  wire::EventTimes times;
  if (!mayRecord(thread) || !isActive()) return close_range_of(first, last);
  TakenHandles taken(first, last);
  times.start = leaveThinking(thread);
  int result = 0;
  const int number = ownDescriptor();
  const auto own = static_cast<unsigned>(number);
  if (own >= first && own <= last && isOwnDescriptor(number)) {
    if (own > first) result = close_range_of(first, own - 1);
    if (result == 0 && own < last) result = close_range_of(own + 1, last);
  } else {
    result = close_range_of(first, last);
  }
  const int error = errno;
  times.end = ticks();
  if (result == 0) {
    taken.forEach([times](Entry entry) {
      wire::Arguments<kCall> numbers{};
      Subject subject;
      subject.handle = entry;
      record<kCall>(thread, times, false, numbers, 0, 0, subject);
    });
  } else {
    taken.putBack();
  }
  errno = error;
  return result;
}

constinit LazySymbol<int(void*, size_t, int) noexcept> real_advice("posix_madvise");

// When the library is loaded: an allocator that calls it may not be entered again by a look-up.
__attribute__((constructor)) void lookUpAdvice() { real_advice.get(); }

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

// Records CallId::NAME with the arguments and the mode that follows them, which is there for some
// flags alone. The variadic function is called through a fixed type: on the platforms that the
// tracer knows, integers and pointers are passed alike either way.
#define OMNIO_OPEN(NAME, ...)                                      \
  va_list list;                                                    \
  va_start(list, flags);                                           \
  const mode_t mode = takesMode(flags) ? va_arg(list, mode_t) : 0; \
  va_end(list);                                                    \
  return intercept<CallId::NAME, int>(__VA_ARGS__, mode)

OMNIO_EXPORT int open(const char* path, int flags, ...) { OMNIO_OPEN(open, path, flags); }
OMNIO_EXPORT int open64(const char* path, int flags, ...) { OMNIO_OPEN(open64, path, flags); }
OMNIO_EXPORT int openat(int dirfd, const char* path, int flags, ...) {
  OMNIO_OPEN(openat, dirfd, path, flags);
}
OMNIO_EXPORT int openat64(int dirfd, const char* path, int flags, ...) {
  OMNIO_OPEN(openat64, dirfd, path, flags);
}

namespace {

// A slash behind the first character is refused by the C library before it asks the system.
bool namesSharedMemory(const char* name) {
  return isActive() && isReadable(name) && *name != '\0' && strchr(name + 1, '/') == nullptr;
}

}  // namespace

OMNIO_EXPORT int shm_open(const char* name, int flags, mode_t mode) {
  auto* const real = realFunction<CallId::shm_open, int(const char*, int, mode_t)>();
  if (!namesSharedMemory(name)) return real(name, flags, mode);
  return interceptWith<CallId::shm_open, int>(real, name, flags, mode);
}
OMNIO_EXPORT int shm_unlink(const char* name) {
  auto* const real = realFunction<CallId::shm_unlink, int(const char*)>();
  if (!namesSharedMemory(name)) return real(name);
  return interceptWith<CallId::shm_unlink, int>(real, name);
}

#define OMNIO_FCNTL(NAME)                     \
  va_list list;                               \
  va_start(list, command);                    \
  void* const argument = va_arg(list, void*); \
  va_end(list);                               \
  return fcntlWith<CallId::NAME>(fd, command, argument)

OMNIO_EXPORT int fcntl(int fd, int command, ...) { OMNIO_FCNTL(fcntl); }
OMNIO_EXPORT int fcntl64(int fd, int command, ...) { OMNIO_FCNTL(fcntl64); }

OMNIO_EXPORT int close_range(unsigned first, unsigned last, int flags) noexcept {
  auto* const real = realFunction<CallId::close_range, int(unsigned, unsigned, int)>();
  if ((flags & CLOSE_RANGE_CLOEXEC) != 0 || first > last) return real(first, last, flags);
  return closeMany<CallId::close_range>(
      first, last, [real, flags](unsigned a, unsigned b) { return real(a, b, flags); });
}

OMNIO_EXPORT void closefrom(int first) noexcept {
  auto* const real = realFunction<CallId::closefrom, void(int)>();
  auto* const range = realFunction<CallId::close_range, int(unsigned, unsigned, int)>();
  const auto isMissing = [](auto* function) {
    return reinterpret_cast<void*>(function) == reinterpret_cast<void*>(missingFunction);
  };
  if (isMissing(range)) {
    real(first);
    return;
  }
  const bool has_own = !isMissing(real);
  closeMany<CallId::closefrom>(static_cast<unsigned>(first < 0 ? 0 : first), ~0U,
                               [real, range, has_own](unsigned a, unsigned b) {
                                 if (b != ~0U || !has_own) return range(a, b, 0);
                                 real(static_cast<int>(a));
                                 return 0;
                               });
}

OMNIO_EXPORT ssize_t sendfile(int to, int from, off_t* offset, size_t bytes) noexcept {
  auto* const real = realFunction<CallId::sendfile, ssize_t(int, int, off_t*, size_t) noexcept>();
  if (isReadBySendfile(to, from)) {
    return readBySendfile([=] { return real(to, from, offset, bytes); }, from, offset, bytes);
  }
  return interceptWith<CallId::sendfile, ssize_t>(real, to, from, offset, bytes);
}
OMNIO_EXPORT ssize_t sendfile64(int to, int from, off64_t* offset, size_t bytes) noexcept {
  auto* const real =
      realFunction<CallId::sendfile64, ssize_t(int, int, off64_t*, size_t) noexcept>();
  if (isReadBySendfile(to, from)) {
    return readBySendfile([=] { return real(to, from, offset, bytes); }, from, offset, bytes);
  }
  return interceptWith<CallId::sendfile64, ssize_t>(real, to, from, offset, bytes);
}

// One end is a pipe, which is not recorded; so the other one says which way the bytes go.
OMNIO_EXPORT ssize_t splice(int from, off64_t* from_offset, int to, off64_t* to_offset,
                            size_t bytes, unsigned flags) {
  auto* const real =
      realFunction<CallId::splice, ssize_t(int, off64_t*, int, off64_t*, size_t, unsigned)>();
  if (isActive() && mayRecord(thread) && find(from).isTraced()) {
    return interceptWith<CallId::splice_read, ssize_t>(
        [=](int, off64_t*, size_t, unsigned) {
          return real(from, from_offset, to, to_offset, bytes, flags);
        },
        from, from_offset, bytes, flags);
  }
  return interceptWith<CallId::splice, ssize_t>(
      [=](int, off64_t*, size_t, unsigned) {
        return real(from, from_offset, to, to_offset, bytes, flags);
      },
      to, to_offset, bytes, flags);
}

namespace {

// By name, since it has no row of its own.
constinit LazySymbol<int(int, unsigned long, ...)> real_ioctl("ioctl");

int cloneRange(int to, unsigned long request, void* argument, file_clone_range range) {
  auto* const real = real_ioctl.get();
  const auto source = static_cast<int>(range.src_fd);
  const auto offset = static_cast<off64_t>(range.src_offset);
  auto length = static_cast<std::int64_t>(range.src_length);
  struct stat about {};
  if (length == 0 && rawSyscall(SYS_fstat, source, address(&about)) == 0) {
    length = std::max<std::int64_t>(about.st_size - offset, 0);
  }
  const ssize_t cloned = interceptWith<CallId::clone_range, ssize_t>(
      [=](int, off64_t, int, off64_t, std::size_t) -> ssize_t {
        const int result = real(to, request, argument);
        return result < 0 ? result : length;
      },
      to, static_cast<off64_t>(range.dest_offset), source, offset,
      static_cast<std::size_t>(length));
  return cloned < 0 ? -1 : 0;
}

}  // namespace

OMNIO_EXPORT int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* const argument = va_arg(list, void*);
  va_end(list);
  if (request == FICLONE) {
    file_clone_range whole{};
    whole.src_fd = static_cast<int>(reinterpret_cast<long>(argument));
    return cloneRange(fd, request, argument, whole);
  }
  if (request == FICLONERANGE && isReadableMemory(argument, sizeof(file_clone_range))) {
    return cloneRange(fd, request, argument, *static_cast<const file_clone_range*>(argument));
  }
  return real_ioctl.get()(fd, request, argument);
}

OMNIO_EXPORT int bind(int fd, const sockaddr* address, socklen_t bytes) noexcept {
  auto* const real = realFunction<CallId::bind, int(int, const sockaddr*, socklen_t)>();
  // A name of other kinds (abstract, none) is not in the file system.
  constexpr std::size_t kBefore = offsetof(sockaddr_un, sun_path);
  const bool may_have_name = bytes > kBefore && bytes <= sizeof(sockaddr_un) &&
                             isReadableMemory(address, bytes) && address->sa_family == AF_UNIX;
  const char* const name = reinterpret_cast<const char*>(address) + kBefore;
  if (!may_have_name || *name == '\0') return real(fd, address, bytes);
  // The name need not end with a NUL.
  char path[sizeof(sockaddr_un::sun_path) + 1];
  const std::size_t length = strnlen(name, bytes - kBefore);
  std::memcpy(path, name, length);
  path[length] = '\0';
  return interceptWith<CallId::bind, int>([=](const char*) { return real(fd, address, bytes); },
                                          static_cast<const char*>(path));
}

OMNIO_EXPORT DIR* opendir(const char* path) {
  auto* const real = realFunction<CallId::opendir, DIR*(const char*)>();
  DIR* made = nullptr;
  interceptWith<CallId::opendir, int>(
      [&made, real](const char* name) {
        made = real(name);
        return directoryDescriptor(made);
      },
      path);
  return made;
}

OMNIO_EXPORT DIR* fdopendir(int fd) {
  auto* const real = realFunction<CallId::fdopendir, DIR*(int)>();
  DIR* made = nullptr;
  interceptWith<CallId::fdopendir, int>(
      [&made, real](int of) {
        made = real(of);
        return made == nullptr ? -1 : 0;
      },
      fd);
  return made;
}

namespace {

// The end of a directory leaves errno as it was; a failure sets it.
template <CallId kCall, typename Dirent>
Dirent* readEntry(DIR* directory) {
  auto* const real = realFunction<kCall, Dirent*(DIR*)>();
  const int errno_before = errno;
  errno = 0;
  Dirent* entry = nullptr;
  const int result = interceptWith<kCall, int>(
      [&entry, real, directory](int) {
        entry = real(directory);
        if (entry != nullptr) return 1;
        return errno == 0 ? 0 : -1;
      },
      directoryDescriptor(directory));
  if (result >= 0) errno = errno_before;
  return entry;
}

// `select` and `compare` are the application's: their calls are recorded as such, before this one.
template <CallId kCall, typename Dirent, typename Select, typename Compare>
int scanDirectory(const char* path, Dirent*** names, Select select, Compare compare) {
  auto* const real = realFunction<kCall, int(const char*, Dirent***, Select, Compare)>();
  return interceptWith<kCall, int>(
      [=](const char* name) { return real(name, names, select, compare); }, path);
}

}  // namespace

OMNIO_EXPORT struct dirent* readdir(DIR* directory) {
  return readEntry<CallId::readdir, struct dirent>(directory);
}
OMNIO_EXPORT struct dirent64* readdir64(DIR* directory) {
  return readEntry<CallId::readdir64, struct dirent64>(directory);
}

OMNIO_EXPORT void rewinddir(DIR* directory) noexcept {
  auto* const real = realFunction<CallId::rewinddir, void(DIR*)>();
  interceptWith<CallId::rewinddir, int>(
      [real, directory](int) {
        real(directory);
        return 0;
      },
      directoryDescriptor(directory));
}

OMNIO_EXPORT int scandir(const char* path, struct dirent*** names,
                         int (*select)(const struct dirent*),
                         int (*compare)(const struct dirent**, const struct dirent**)) {
  return scanDirectory<CallId::scandir>(path, names, select, compare);
}
OMNIO_EXPORT int scandir64(const char* path, struct dirent64*** names,
                           int (*select)(const struct dirent64*),
                           int (*compare)(const struct dirent64**, const struct dirent64**)) {
  return scanDirectory<CallId::scandir64>(path, names, select, compare);
}

OMNIO_EXPORT int closedir(DIR* directory) {
  auto* const real = realFunction<CallId::closedir, int(DIR*)>();
  return interceptWith<CallId::closedir, int>([real, directory](int) { return real(directory); },
                                              directoryDescriptor(directory));
}

OMNIO_EXPORT int chdir(const char* path) noexcept {
  const DirectoryBefore before;
  const int result = intercept<CallId::chdir, int>(path);
  if (result == 0 && isActive() && mayRecord(thread)) workingDirectoryChanged();
  return result;
}

OMNIO_EXPORT int fchdir(int fd) noexcept {
  const int result = intercept<CallId::fchdir, int>(fd);
  if (result == 0 && isActive() && mayRecord(thread)) workingDirectoryChanged();
  return result;
}

static_assert(omnio::wire::kControlKey == OMNIO_CONTROL_KEY);

OMNIO_EXPORT int posix_madvise(void* address, size_t length, int advice) noexcept {
  if (address == nullptr && length == OMNIO_CONTROL_KEY) [[unlikely]] {
    if (advice == OMNIO_CONTROL_STOP || advice == OMNIO_CONTROL_START) {
      setRecording(advice == OMNIO_CONTROL_START);
    } else if (advice == omnio::wire::kOwnWorkBegins || advice == omnio::wire::kOwnWorkEnds) {
      setOwnWork(advice == omnio::wire::kOwnWorkBegins);
    } else if (advice == omnio::wire::kPrepareThreadCommand) {
      if (isActive() && mayRecord(thread)) makeLogAndRing();
    } else if (advice != OMNIO_CONTROL_QUERY) {
      return EINVAL;
    }
    return isRecording() ? OMNIO_CONTROL_RECORDING : OMNIO_CONTROL_STOPPED;
  }
  if (length == OMNIO_CONTROL_KEY) [[unlikely]] {
    const auto bytes = reinterpret_cast<std::uintptr_t>(address);
    if (advice == omnio::wire::kOwnReadCommand) countPassed(bytes, 0);
    if (advice == omnio::wire::kOwnWrittenCommand) countPassed(0, bytes);
  }
  return real_advice.get()(address, length, advice);
}
