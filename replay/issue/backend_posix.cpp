// POSIX calls that no role describes in full.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/calls/lock_commands.hpp"
#include "replay/issue/backend_call.hpp"
#include "replay/issue/libc.hpp"

namespace omnio::replay {
namespace {

using calls::Result;

// Flags by which a descriptor works; what would send signals to us is left out.
constexpr std::int64_t kStatusFlags = O_APPEND | O_DIRECT | O_NONBLOCK | O_NOATIME;

// Recorded as path, flags, mode; with the directory before them in the *at forms.
template <int kFirst, typename Open>
Outcome openWith(Call& call, Open open) {
  const std::int64_t recorded = call.argument(kFirst);
  const auto flags = static_cast<int>(openFlags(call, recorded));
  const auto mode = static_cast<mode_t>(call.argument(kFirst + 1));
  int fd = -1;
  Outcome outcome = timed<Result::kNewFd>(call, [&] { return fd = open(flags, mode); });
  if (flags != recorded) outcome.substitute = Substitute::kOverwrite;
  noteOpened(call, outcome, fd, nullptr, (flags & O_DIRECT) != 0);
  return outcome;
}

Outcome openPlain(Call& call) {
  const auto real = reinterpret_cast<int (*)(const char*, int, ...)>(call.symbol);
  return openWith<1>(call, [&](int flags, mode_t mode) { return real(call.path(), flags, mode); });
}

Outcome openRelative(Call& call) {
  const auto real = reinterpret_cast<int (*)(int, const char*, int, ...)>(call.symbol);
  return openWith<2>(call, [&](int flags, mode_t mode) {
    return real(call.directory(), call.path(), flags, mode);
  });
}

Outcome fcntlCall(Call& call) {
  const auto real = reinterpret_cast<int (*)(int, int, ...)>(call.symbol);
  const auto command = static_cast<int>(call.argument(1));
  const std::int64_t value = call.argument(2);
  const int fd = call.fd();
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC: {
      int made = -1;
      const Outcome outcome = timed<Result::kNumber>(
          call, [&] { return made = real(fd, command, static_cast<int>(value)); });
      noteOpened(call, outcome, made, nullptr, call.context.descriptors.isDirect(call.op().fd));
      return outcome;
    }
    case F_SETFL: {
      const auto flags = static_cast<int>(value & kStatusFlags);
      const Outcome outcome =
          timed<Result::kNumber>(call, [&] { return real(fd, command, flags); });
      if (!outcome.failed) {
        call.context.descriptors.setDirect(call.op().fd, (flags & O_DIRECT) != 0);
      }
      return outcome;
    }
    case F_GETFD:
    case F_SETFD:
    case F_GETFL:
      return timed<Result::kNumber>(call,
                                    [&] { return real(fd, command, static_cast<int>(value)); });
    default:
      return notIssued();  // owners, signals, leases, pipes, seals: nothing of a file's data
  }
}

Outcome closeRange(Call& call, void* symbol) {
  const auto real = reinterpret_cast<int (*)(unsigned, unsigned, int)>(symbol);
  const int fd = call.fd();
  if (real == nullptr || fd < 0) return notIssued();
  const auto number = static_cast<unsigned>(fd);
  const Outcome outcome = timed<Result::kZero>(call, [&] { return real(number, number, 0); });
  noteClosed(call, outcome, false);
  return outcome;
}

}  // namespace

int nullDevice() {
  static const int device = raw::openAt(AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC);
  return device;
}

OMNIO_BY_HAND(open) { return openPlain(call); }
OMNIO_BY_HAND(open64) { return openPlain(call); }
OMNIO_BY_HAND(openat) { return openRelative(call); }
OMNIO_BY_HAND(openat64) { return openRelative(call); }

// In schedules they are calls on files.
OMNIO_BY_HAND(shm_open) {
  (void)call;
  return notIssued();
}
OMNIO_BY_HAND(shm_unlink) {
  (void)call;
  return notIssued();
}

OMNIO_BY_HAND(close_range) { return closeRange(call, call.symbol); }

namespace {

// The thread's pipe, with room for as many bytes as went, as far as the system allows: a splice
// moves no more than there is room for, and takes whole pages of it for what it has of the first
// page and the last one.
bool havePipe(IssueContext& context, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  if (context.pipe[0] < 0 &&
      raw::systemCall(SYS_pipe2, context.pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
    return false;
  }
  raw::systemCall(SYS_fcntl, context.pipe[1], F_SETPIPE_SZ, static_cast<long>(bytes + 2 * kPage));
  return true;
}

void emptyPipe(const Call& call) {
  Buffers& buffers = *call.context.buffers;
  const auto take = [&] {
    return raw::systemCall(SYS_read, call.context.pipe[0], buffers.forRead(false),
                           buffers.readRoom());
  };
  for (long taken = take(); taken > 0; taken = take()) {
    raw::bytes_read += static_cast<std::uint64_t>(taken);
  }
}

using Splice = ssize_t (*)(int, off64_t*, int, off64_t*, size_t, unsigned);

// Recorded as offset, bytes asked for, flags behind the descriptor.
struct Spliced {
  off64_t offset;
  off64_t* place;
  std::size_t bytes;  // that were asked for
  std::size_t moved;
  unsigned flags;

  explicit Spliced(const Call& call)
      : offset(call.argument(1)),
        place(offset == -1 ? nullptr : &offset),
        bytes(static_cast<std::size_t>(call.argument(2))),
        moved((call.op().flags & kOpFailed) != 0
                  ? 0
                  : static_cast<std::size_t>(std::max<std::int64_t>(call.op().result, 0))),
        flags(static_cast<unsigned>(call.argument(3))) {}
};

}  // namespace

// Regular but for the file that it goes to, which is another program's in the recording.
template <typename Offset>
Outcome sendFile(Call& call) {
  const auto real = reinterpret_cast<ssize_t (*)(int, int, Offset*, size_t)>(call.symbol);
  const int from = call.context.descriptors.fd(call.op().other);
  Offset offset = static_cast<Offset>(call.argument(2));
  Offset* const place = call.argument(2) == -1 ? nullptr : &offset;
  const auto bytes = static_cast<std::size_t>(call.argument(3));
  return timed<Result::kBytes>(call, [&] { return real(call.fd(), from, place, bytes); });
}

OMNIO_BY_HAND(sendfile) { return sendFile<off_t>(call); }
OMNIO_BY_HAND(sendfile64) { return sendFile<off64_t>(call); }

// What took the bytes was no file; /dev/null takes as many.
OMNIO_BY_HAND(sendfile_read) {
  const auto real = reinterpret_cast<ssize_t (*)(int, int, off64_t*, size_t)>(call.symbol);
  off64_t offset = call.argument(1);
  off64_t* const place = offset == -1 ? nullptr : &offset;
  const auto bytes = static_cast<std::size_t>(call.argument(2));
  if (nullDevice() < 0) return notIssued();
  return timed<Result::kBytes>(call, [&] { return real(nullDevice(), call.fd(), place, bytes); });
}

// The pipe holds what the application's held.
OMNIO_BY_HAND(splice) {
  const auto real = reinterpret_cast<Splice>(call.symbol);
  Spliced args(call);
  if (!havePipe(call.context, args.moved)) return notIssued();
  const std::span<char> content = contentFor(call, args.moved);
  const long put = raw::systemCall(SYS_write, call.context.pipe[1], content.data(), content.size());
  if (put > 0) raw::bytes_written += static_cast<std::uint64_t>(put);
  // Nothing in the pipe: it would wait for ever.
  if (put <= 0) args.flags |= SPLICE_F_NONBLOCK;
  const int fd = call.fd();
  const Outcome outcome = timed<Result::kBytes>(call, [&] {
    return real(call.context.pipe[0], nullptr, fd, args.place, args.bytes, args.flags);
  });
  emptyPipe(call);
  return outcome;
}
OMNIO_BY_HAND(splice_read) {
  const auto real = reinterpret_cast<Splice>(call.symbol);
  Spliced args(call);
  if (!havePipe(call.context, args.moved)) return notIssued();
  // The application's pipe took no more, or the file had no more.
  if (args.moved > 0) args.bytes = std::min(args.bytes, args.moved);
  const int fd = call.fd();
  const Outcome outcome = timed<Result::kBytes>(call, [&] {
    return real(fd, args.place, call.context.pipe[1], nullptr, args.bytes, args.flags);
  });
  emptyPipe(call);
  return outcome;
}

namespace {

// As a program copies that finds out that the system does not. Returns the bytes that were copied,
// fewer only at the end of the file; -1 and errno.
std::int64_t copyByReading(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                           std::uint64_t bytes) {
  constexpr std::uint64_t kPiece = 1 << 20;
  std::vector<char> buffer(std::min(bytes, kPiece));
  std::uint64_t done = 0;
  while (done < bytes) {
    const std::int64_t got =
        raw::readWholeAt(from, buffer.data(), std::min<std::uint64_t>(buffer.size(), bytes - done),
                         from_offset + done);
    if (got < 0) return -1;
    if (got == 0) break;
    const auto part = static_cast<std::size_t>(got);
    if (!raw::writeWholeAt(to, buffer.data(), part, to_offset + done)) return -1;
    done += part;
  }
  return static_cast<std::int64_t>(done);
}

bool copyRange(file_clone_range range, int to) {
  auto from = static_cast<off64_t>(range.src_offset);
  auto offset = static_cast<off64_t>(range.dest_offset);
  while (range.src_length > 0) {
    const long copied = raw::systemCall(SYS_copy_file_range, range.src_fd, &from, to, &offset,
                                        static_cast<std::size_t>(range.src_length), 0U);
    if (copied < 0 && errno == EXDEV) {
      const std::int64_t by_reading =
          copyByReading(static_cast<int>(range.src_fd), static_cast<std::uint64_t>(from), to,
                        static_cast<std::uint64_t>(offset), range.src_length);
      return by_reading == static_cast<std::int64_t>(range.src_length);
    }
    if (copied <= 0) return false;
    range.src_length -= static_cast<std::uint64_t>(copied);
    raw::bytes_read += static_cast<std::uint64_t>(copied);
    raw::bytes_written += static_cast<std::uint64_t>(copied);
  }
  return true;
}

}  // namespace

// The application's two files were in one file system, and the targets of a replay need not be.
OMNIO_BY_HAND(copy_file_range) {
  const auto real =
      reinterpret_cast<ssize_t (*)(int, off64_t*, int, off64_t*, size_t, unsigned)>(call.symbol);
  const Op& op = call.op();
  const int from = op.other == kNoSlot ? -1 : call.context.descriptors.fd(op.other);
  const int to = call.fd();
  off64_t from_offset = call.argument(1);
  off64_t to_offset = call.argument(3);
  // -1: the descriptor's own position, which moves.
  const bool moves_from = from_offset == -1;
  const bool moves_to = to_offset == -1;
  Outcome outcome = timed<Result::kBytes>(call, [&] {
    return real(from, moves_from ? nullptr : &from_offset, to, moves_to ? nullptr : &to_offset,
                static_cast<size_t>(call.argument(4)), static_cast<unsigned>(call.argument(5)));
  });
  const bool had_failed = (op.flags & kOpFailed) != 0;
  if (!outcome.failed || outcome.result != EXDEV || had_failed) return outcome;
  if (moves_from) from_offset = raw::seek(from, 0, SEEK_CUR);
  if (moves_to) to_offset = raw::seek(to, 0, SEEK_CUR);
  if (from_offset < 0 || to_offset < 0) return outcome;
  const auto bytes = std::min(op.request, static_cast<std::uint64_t>(op.result));
  const std::int64_t copied = copyByReading(from, static_cast<std::uint64_t>(from_offset), to,
                                            static_cast<std::uint64_t>(to_offset), bytes);
  if (copied < 0) return outcome;
  if (moves_from) raw::seek(from, copied, SEEK_CUR);
  if (moves_to) raw::seek(to, copied, SEEK_CUR);
  outcome.failed = false;
  outcome.result = copied;
  outcome.end_ns = endOf(call);
  outcome.substitute = Substitute::kCopy;
  return outcome;
}

// Which file systems share blocks is another matter on the target. Where it cannot, the bytes are
// copied, as a program does that finds this out. Where it can and the application could not, the
// calls by which that one copied follow.
OMNIO_BY_HAND(clone_range) {
  const auto real = reinterpret_cast<int (*)(int, unsigned long, ...)>(call.symbol);
  const Op& op = call.op();
  file_clone_range range{.src_fd = op.other == kNoSlot ? -1 : call.context.descriptors.fd(op.other),
                         .src_offset = static_cast<std::uint64_t>(call.argument(3)),
                         .src_length = static_cast<std::uint64_t>(call.argument(4)),
                         .dest_offset = static_cast<std::uint64_t>(call.argument(1))};
  const int fd = call.fd();
  Outcome outcome = timed<Result::kBytes>(call, [&]() -> ssize_t {
    return real(fd, FICLONERANGE, &range) < 0 ? -1 : static_cast<ssize_t>(range.src_length);
  });
  const bool had_failed = (op.flags & kOpFailed) != 0;
  const bool is_across = outcome.failed && outcome.result == EXDEV && op.result != EXDEV;
  if (outcome.failed == had_failed && !is_across) return outcome;
  if (!had_failed && !copyRange(range, fd)) return outcome;
  outcome.failed = had_failed;
  outcome.result = op.result;
  outcome.end_ns = endOf(call);
  outcome.substitute = Substitute::kClone;
  return outcome;
}

// closefrom would close everything from there on, the replayer's own descriptors too.
OMNIO_BY_HAND(closefrom) {
  static void* const kCloseRange = symbolNamed("close_range");
  Outcome outcome = closeRange(call, kCloseRange);
  if (outcome.issued) outcome.substitute = Substitute::kCloseFrom;
  return outcome;
}

OMNIO_BY_HAND(opendir) {
  const auto real = reinterpret_cast<DIR* (*)(const char*)>(call.symbol);
  DIR* directory = nullptr;
  const Outcome outcome =
      timed<Result::kNewFd>(call, [&] { return directory = real(call.path()); });
  const std::uint32_t slot = call.op().new_fd;
  if (directory != nullptr && slot == kNoSlot) {
    ownLibc().closedir(directory);  // the recorded call failed: nothing in the schedule closes it
    return outcome;
  }
  if (directory != nullptr) call.context.descriptors.openedDirectory(slot, directory);
  noteOpened(call, outcome, directory == nullptr ? -1 : dirfd(directory), nullptr, false);
  return outcome;
}

OMNIO_BY_HAND(fdopendir) {
  const auto real = reinterpret_cast<DIR* (*)(int)>(call.symbol);
  const int fd = call.fd();
  DIR* directory = nullptr;
  const Outcome outcome = timed<Result::kZero>(call, [&] {
    directory = real(fd);
    return directory == nullptr ? -1 : 0;
  });
  if (directory != nullptr) call.context.descriptors.openedDirectory(call.op().fd, directory);
  return outcome;
}

namespace {

template <typename Dirent>
Outcome readEntry(Call& call) {
  const auto real = reinterpret_cast<Dirent* (*)(DIR*)>(call.symbol);
  const Descriptors::DirectoryUse directory(call.context.descriptors, call.op().fd);
  if (directory.get() == nullptr) return notIssued();
  return timed<Result::kNumber>(call, [&] {
    if (real(directory.get()) != nullptr) return 1;
    return errno == 0 ? 0 : -1;
  });
}

template <typename Dirent>
Outcome scanDirectory(Call& call) {
  using Select = int (*)(const Dirent*);
  using Compare = int (*)(const Dirent**, const Dirent**);
  const auto real = reinterpret_cast<int (*)(const char*, Dirent***, Select, Compare)>(call.symbol);
  Dirent** names = nullptr;
  const Outcome outcome =
      timed<Result::kNumber>(call, [&] { return real(call.path(), &names, nullptr, nullptr); });
  for (std::int64_t i = 0; !outcome.failed && i < outcome.result; ++i) std::free(names[i]);
  std::free(names);
  return outcome;
}

}  // namespace

OMNIO_BY_HAND(readdir) { return readEntry<struct dirent>(call); }
OMNIO_BY_HAND(readdir64) { return readEntry<struct dirent64>(call); }
OMNIO_BY_HAND(scandir) { return scanDirectory<struct dirent>(call); }
OMNIO_BY_HAND(scandir64) { return scanDirectory<struct dirent64>(call); }

OMNIO_BY_HAND(rewinddir) {
  const auto real = reinterpret_cast<void (*)(DIR*)>(call.symbol);
  const Descriptors::DirectoryUse directory(call.context.descriptors, call.op().fd);
  if (directory.get() == nullptr) return notIssued();
  return timed<Result::kNone>(call, [&] { real(directory.get()); });
}

OMNIO_BY_HAND(closedir) {
  DIR* const directory = call.context.descriptors.takeDirectory(call.op().fd);
  if (directory == nullptr) return notIssued();
  const auto real = reinterpret_cast<int (*)(DIR*)>(call.symbol);
  const Outcome outcome = timed<Result::kZero>(call, [&] { return real(directory); });
  noteClosed(call, outcome, false);
  return outcome;
}

OMNIO_BY_HAND(fcntl) { return fcntlCall(call); }
OMNIO_BY_HAND(fcntl64) { return fcntlCall(call); }

namespace {

// How long a replay waits for a lock that the application got: a thread that is to give it up may
// be waiting for this one.
constexpr std::int64_t kLockPatienceNs = 10'000'000;
constexpr std::int64_t kFirstLockPauseNs = 20'000;
constexpr std::int64_t kLongestLockPauseNs = 1'000'000;

bool isHeldByOthers(int result) { return result != 0 && (errno == EAGAIN || errno == EACCES); }

// Takes a lock that the application got. `take` does not wait; nor does `again`, which is not
// recorded and follows for as long as others have the lock. If they keep it, the replay goes on
// without.
template <typename Take, typename Again>
Outcome takeLock(Call& call, Take take, Again again) {
  bool is_held = false;
  Outcome outcome = timed<Result::kZero>(call, [&] {
    const std::int64_t begin = nowNs();
    int result = take();
    std::int64_t pause_ns = kFirstLockPauseNs;
    while ((is_held = isHeldByOthers(result)) && nowNs() - begin < kLockPatienceNs) {
      const timespec pause{0, pause_ns};
      nanosleep(&pause, nullptr);
      pause_ns = std::min(2 * pause_ns, kLongestLockPauseNs);
      result = again();
    }
    return result;
  });
  if (!is_held) return outcome;
  outcome.failed = false;
  outcome.result = 0;
  outcome.substitute = Substitute::kLock;
  return outcome;
}

// A lock that the application did not get, whether others had it or the wait was interrupted. It
// may be free by now, so `ask` only asks, and never waits.
template <typename Ask>
Outcome askForLock(Call& call, Ask ask) {
  Outcome outcome = timed<Result::kNumber>(call, ask);
  outcome.failed = true;
  outcome.result = call.op().result;
  outcome.substitute = Substitute::kLock;
  return outcome;
}

bool hasFailed(const Call& call) { return (call.op().flags & kOpFailed) != 0; }

}  // namespace

OMNIO_BY_HAND(fcntl_lock) {
  const auto real = reinterpret_cast<int (*)(int, int, ...)>(call.symbol);
  const auto command = static_cast<int>(call.argument(1));
  struct flock lock {};
  lock.l_type = static_cast<short>(call.argument(2));
  lock.l_whence = static_cast<short>(call.argument(3));
  lock.l_start = static_cast<off_t>(call.argument(4));
  lock.l_len = static_cast<off_t>(call.argument(5));
  const int fd = call.fd();
  if (calls::findsLock(command)) {
    return timed<Result::kNumber>(call, [&] { return real(fd, command, &lock); });
  }
  if (!calls::setsLock(command)) return notIssued();
  if (lock.l_type == F_UNLCK) {
    return timed<Result::kNumber>(call, [&] { return real(fd, command, &lock); });
  }
  const bool is_of_process = calls::setsProcessLock(command);
  const int take = is_of_process ? F_SETLK : F_OFD_SETLK;
  if (hasFailed(call)) {
    return askForLock(call, [&] { return real(fd, is_of_process ? F_GETLK : F_OFD_GETLK, &lock); });
  }
  return takeLock(
      call, [&] { return real(fd, take, &lock); }, [&] { return raw::lock(fd, take, lock); });
}

OMNIO_BY_HAND(flock) {
  const auto real = reinterpret_cast<int (*)(int, int)>(call.symbol);
  const auto recorded = static_cast<int>(call.argument(1));
  const int operation = recorded | LOCK_NB;
  const int fd = call.fd();
  if ((operation & LOCK_UN) != 0) {
    return timed<Result::kZero>(call, [&] { return real(fd, recorded); });
  }
  if (hasFailed(call)) {
    return askForLock(call, [&] {
      const int result = real(fd, operation);
      if (result == 0) raw::lockWhole(fd, LOCK_UN);
      return result;
    });
  }
  return takeLock(
      call, [&] { return real(fd, operation); }, [&] { return raw::lockWhole(fd, operation); });
}

namespace {

// lockf, which locks from the position on.
Outcome lockPart(Call& call) {
  const auto real = reinterpret_cast<int (*)(int, int, off_t)>(call.symbol);
  const auto command = static_cast<int>(call.argument(1));
  const auto length = static_cast<off_t>(call.argument(2));
  const int fd = call.fd();
  if (command != F_LOCK && command != F_TLOCK) {
    return timed<Result::kZero>(call, [&] { return real(fd, command, length); });
  }
  if (hasFailed(call)) return askForLock(call, [&] { return real(fd, F_TEST, length); });
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_CUR;
  lock.l_len = length;
  return takeLock(
      call, [&] { return real(fd, F_TLOCK, length); },
      [&] { return raw::lock(fd, F_SETLK, lock); });
}

// Where the text of a link goes. It is another one than recorded: links lead into the tree.
struct LinkRoom {
  char text[PATH_MAX];
  std::size_t bytes;

  explicit LinkRoom(std::int64_t asked)
      : bytes(static_cast<std::size_t>(
            std::clamp<std::int64_t>(asked, 0, static_cast<std::int64_t>(sizeof text)))) {}
};

template <typename Read>
Outcome readLink(Call& call, Read read) {
  Outcome outcome = timed<Result::kNumber>(call, read);
  const bool was_link = (call.op().flags & kOpFailed) == 0;
  if (was_link && outcome.failed && outcome.result == EINVAL) {
    outcome.substitute = Substitute::kFoundLink;
  }
  return outcome;
}

}  // namespace

OMNIO_BY_HAND(lockf) { return lockPart(call); }
OMNIO_BY_HAND(lockf64) { return lockPart(call); }

OMNIO_BY_HAND(readlink) {
  const auto real = reinterpret_cast<ssize_t (*)(const char*, char*, size_t)>(call.symbol);
  LinkRoom room(call.argument(2));
  return readLink(call, [&] { return real(call.path(), room.text, room.bytes); });
}
OMNIO_BY_HAND(__readlink_chk) {
  const auto real = reinterpret_cast<ssize_t (*)(const char*, char*, size_t, size_t)>(call.symbol);
  LinkRoom room(call.argument(2));
  return readLink(call, [&] { return real(call.path(), room.text, room.bytes, sizeof room.text); });
}
OMNIO_BY_HAND(readlinkat) {
  const auto real = reinterpret_cast<ssize_t (*)(int, const char*, char*, size_t)>(call.symbol);
  LinkRoom room(call.argument(3));
  return readLink(call, [&] { return real(call.directory(), call.path(), room.text, room.bytes); });
}
OMNIO_BY_HAND(__readlinkat_chk) {
  const auto real =
      reinterpret_cast<ssize_t (*)(int, const char*, char*, size_t, size_t)>(call.symbol);
  LinkRoom room(call.argument(3));
  return readLink(call, [&] {
    return real(call.directory(), call.path(), room.text, room.bytes, sizeof room.text);
  });
}

// The directory gets the name that it had in the recording.
OMNIO_BY_HAND(mkdtemp) {
  const auto real = reinterpret_cast<char* (*)(char*)>(call.symbol);
  std::string name = templateFor(call.path(), 0);
  const Outcome outcome = timed<Result::kTemplate>(call, [&] { return real(name.data()); });
  if (!outcome.failed && name != call.path()) {
    raw::renameAt(AT_FDCWD, name.c_str(), AT_FDCWD, call.path());
  }
  return outcome;
}

namespace {

template <typename Make>
Outcome makeNode(Call& call, std::int64_t mode, Make make) {
  const std::int64_t kind = mode & S_IFMT;
  const bool is_file = kind == 0 || kind == S_IFREG || kind == S_IFIFO || kind == S_IFSOCK;
  // A device that was refused: a regular file would not be.
  if (!is_file && (call.op().flags & kOpFailed) != 0) return notIssued();
  const auto permissions = static_cast<mode_t>(mode & ~std::int64_t{S_IFMT});
  Outcome outcome = timed<Result::kZero>(call, [&] { return make(S_IFREG | permissions); });
  if (kind != 0 && kind != S_IFREG) outcome.substitute = Substitute::kNode;
  return outcome;
}

constexpr int kNodeVersion = 0;  // of __xmknod (glibc, _MKNOD_VER)

Outcome makeNodeAt(Call& call, void* symbol, std::int64_t mode) {
  const auto real = reinterpret_cast<int (*)(int, const char*, mode_t, dev_t)>(symbol);
  return makeNode(call, mode,
                  [&](mode_t wanted) { return real(call.directory(), call.path(), wanted, 0); });
}

}  // namespace

OMNIO_BY_HAND(mkfifo) {
  static void* const kMakeNode = symbolNamed("mknod");
  const auto real = reinterpret_cast<int (*)(const char*, mode_t, dev_t)>(kMakeNode);
  if (real == nullptr) return notIssued();
  return makeNode(call, S_IFIFO | call.argument(1),
                  [&](mode_t wanted) { return real(call.path(), wanted, 0); });
}
OMNIO_BY_HAND(mkfifoat) {
  static void* const kMakeNode = symbolNamed("mknodat");
  if (kMakeNode == nullptr) return notIssued();
  return makeNodeAt(call, kMakeNode, S_IFIFO | call.argument(2));
}
OMNIO_BY_HAND(mknod) {
  const auto real = reinterpret_cast<int (*)(const char*, mode_t, dev_t)>(call.symbol);
  return makeNode(call, call.argument(1),
                  [&](mode_t wanted) { return real(call.path(), wanted, 0); });
}
OMNIO_BY_HAND(mknodat) { return makeNodeAt(call, call.symbol, call.argument(2)); }
OMNIO_BY_HAND(__xmknod) {
  const auto real = reinterpret_cast<int (*)(int, const char*, mode_t, dev_t*)>(call.symbol);
  dev_t device = 0;
  return makeNode(call, call.argument(2),
                  [&](mode_t wanted) { return real(kNodeVersion, call.path(), wanted, &device); });
}
OMNIO_BY_HAND(__xmknodat) {
  const auto real = reinterpret_cast<int (*)(int, int, const char*, mode_t, dev_t*)>(call.symbol);
  dev_t device = 0;
  return makeNode(call, call.argument(3), [&](mode_t wanted) {
    return real(kNodeVersion, call.directory(), call.path(), wanted, &device);
  });
}

namespace {

// Whether bind fails so for its path, whatever its socket is.
bool isAboutPath(std::int64_t error) {
  return error == EADDRINUSE || error == ENOENT || error == ENOTDIR || error == EACCES ||
         error == ELOOP || error == EROFS || error == ENOSPC || error == EDQUOT;
}

}  // namespace

// A socket of the replay's own makes the name. No process connects to it.
OMNIO_BY_HAND(bind) {
  const bool had_failed = (call.op().flags & kOpFailed) != 0;
  if (had_failed && !isAboutPath(call.op().result)) return notIssued();
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::string path = call.path();
  int directory = -1;
  if (path.size() >= sizeof address.sun_path) {
    // The tree may lie deeper than the name of a socket is long.
    const std::size_t slash = path.rfind('/');
    directory = raw::openAt(AT_FDCWD, path.substr(0, slash).c_str(), O_PATH | O_CLOEXEC, 0);
    if (directory < 0) return notIssued();
    path = fmt::format("/proc/self/fd/{}{}", directory, path.substr(slash));
  }
  const long made = raw::systemCall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Outcome outcome = notIssued();
  if (made >= 0 && path.size() < sizeof address.sun_path) {
    path.copy(address.sun_path, path.size());
    const auto real = reinterpret_cast<int (*)(int, const sockaddr*, socklen_t)>(call.symbol);
    outcome = timed<Result::kZero>(call, [&] {
      return real(static_cast<int>(made), reinterpret_cast<const sockaddr*>(&address),
                  sizeof address);
    });
  }
  if (made >= 0) raw::closeFd(static_cast<int>(made));
  if (directory >= 0) raw::closeFd(directory);
  return outcome;
}

namespace {

// The working directory is the thread's own (Names::enterTree).
template <typename Change>
Outcome changeDirectory(Call& call, Change change) {
  const Outcome outcome = timed<Result::kZero>(call, change);
  if (!outcome.failed) call.context.names.changedTo(call.op().file);
  return outcome;
}

}  // namespace

OMNIO_BY_HAND(chdir) {
  const auto real = reinterpret_cast<int (*)(const char*)>(call.symbol);
  return changeDirectory(call, [&] { return real(call.path()); });
}
OMNIO_BY_HAND(fchdir) {
  const auto real = reinterpret_cast<int (*)(int)>(call.symbol);
  const int fd = call.fd();
  return changeDirectory(call, [&] { return real(fd); });
}

}  // namespace omnio::replay
