#include "trace/runtime/ring/log_parts.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <atomic>

#include "core/wire/clock.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/ring/ring_memory.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/resource_limits.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/runtime/sys/waiting.hpp"

namespace omnio::trace {
namespace {

// In memory at once: 8 MiB of full rings.
constexpr std::int32_t kMostParts = 64;
constexpr std::uint64_t kSecondNs = 1'000'000'000;

std::atomic<std::uint32_t> next_part{0};
std::atomic<std::uint32_t> oldest_part{0};  // those before it are taken, or never came to be
// While `omnio trace` is stopped, each part would wait for it.
std::atomic<std::uint64_t> vain_until_ns{0};

// Whether another user, or one with another root directory, could open it.
bool isRefusal(long error) {
  return error == -EACCES || error == -EPERM || error == -EROFS || error == -ENOENT ||
         error == -ENOTDIR || error == -ELOOP;
}

// Whether `omnio trace` has its pid in this process's numbering too: known once it was there. A
// forked child knows it from its parent.
std::atomic<bool> has_seen_supervisor{false};

bool isSupervisorGone() {
  const RunIdentity& identity = runIdentity();
  const std::uint32_t pid = identity.run.supervisor.pid;
  if (rawSyscall(SYS_tgkill, pid, pid, 0) != -ESRCH) {
    has_seen_supervisor.store(true);
    return false;
  }
  constexpr std::uint64_t kFirstNamespace = 0xEFFFFFFC;  // it has all processes of the node
  return has_seen_supervisor.load() || identity.pid_namespace == kFirstNamespace;
}

void putName(char (&path)[kRingPath], std::uint32_t number, const char* infix) {
  ringStem(path).putByte('-').putNumber(number).put(infix).putNumber(
      runIdentity().run.supervisor.pid);
}

enum class Fate { kWaiting, kTaken, kRefused };

Fate fateOf(std::uint32_t number) {
  char path[kRingPath];
  putName(path, number, wire::kPartInfix);
  struct stat s;
  if (rawSyscall(SYS_newfstatat, AT_FDCWD, address(path), address(&s), AT_SYMLINK_NOFOLLOW) != 0) {
    return Fate::kTaken;
  }
  return s.st_size == 0 ? Fate::kRefused : Fate::kWaiting;
}

Fate await(std::uint32_t number) {
  const std::uint64_t patience = process.settings.drops_when_slow ? kSecondNs / 5 : 5 * kSecondNs;
  const std::uint64_t until = wire::systemNs(CLOCK_MONOTONIC) + patience;
  constexpr long kLongestNapNs = 1'000'000;
  for (long nap_ns = kLongestNapNs / 16;; nap_ns = nap_ns < kLongestNapNs ? nap_ns * 2 : nap_ns) {
    const Fate fate = fateOf(number);
    if (fate != Fate::kWaiting || wire::systemNs(CLOCK_MONOTONIC) >= until || isSupervisorGone()) {
      return fate;
    }
    const timespec nap = {.tv_sec = 0, .tv_nsec = nap_ns};
    rawSyscall(SYS_nanosleep, address(&nap), 0);
  }
}

void giveUp() {
  vain_until_ns.store(wire::systemNs(CLOCK_MONOTONIC) + 60 * kSecondNs, std::memory_order_relaxed);
}

// False when there are as many parts as there may be, and none of them is taken.
bool haveRoom(std::uint32_t number) {
  std::uint32_t oldest = oldest_part.load();
  // Threads with later numbers may have gone past this one.
  while (static_cast<std::int32_t>(number - oldest) >= kMostParts) {
    if (await(oldest) == Fate::kWaiting) return false;
    if (oldest_part.compare_exchange_strong(oldest, oldest + 1)) ++oldest;
  }
  return true;
}

// 0 or -errno; -EIO for what is noted.
long publishPart(const wire::LogPartHeader& header, const iovec* pieces, int count) {
  char unfinished[kRingPath];
  char path[kRingPath];
  putName(unfinished, header.number, wire::kUnfinishedPartInfix);
  putName(path, header.number, wire::kPartInfix);
  const HeldSignals held;
  const SpareDescriptors spare;
  const long fd = rawSyscall(SYS_openat, AT_FDCWD, address(unfinished),
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return fd;
  const iovec first = {const_cast<wire::LogPartHeader*>(&header), sizeof header};
  long result = -EIO;
  if (writeAt(static_cast<int>(fd), &first, 1, sizeof header, 0) &&
      writeAt(static_cast<int>(fd), pieces, count, header.bytes, sizeof header)) {
    result = rawSyscall(SYS_renameat, AT_FDCWD, address(unfinished), AT_FDCWD, address(path));
  }
  if (result < 0) rawSyscall(SYS_unlinkat, AT_FDCWD, address(unfinished), 0);
  // Open until now: an unfinished part that no process has open will never be finished.
  rawSyscall(SYS_close, fd);
  return result;
}

}  // namespace

bool mayLeaveParts(long error) {
  const wire::Run& run = runIdentity().run;
  return isRefusal(error) && run.id.isSet() && run.supervisor.pid != 0 &&
         wire::systemNs(CLOCK_MONOTONIC) >= vain_until_ns.load(std::memory_order_relaxed);
}

long leavePart(wire::LogPartKind kind, const char* path, const iovec* pieces, int count,
               std::size_t bytes, std::uint64_t offset, long error) {
  char own[kRingPath];
  if (!mayLeaveParts(error) || ringStem(own).size() == 0 || isSupervisorGone()) return error;
  const RunIdentity& identity = runIdentity();
  wire::LogPartHeader header;
  header.run = identity.run.id;
  header.supervisor = identity.run.supervisor;
  header.token = process.token;
  header.offset = offset;
  header.bytes = bytes;
  header.pid_namespace = identity.pid_namespace;
  header.kind = kind;
  header.number = next_part.fetch_add(1);
  header.pid = static_cast<std::uint32_t>(rawSyscall(SYS_getpid));
  header.error = static_cast<std::uint32_t>(-error);
  Text(header.name, sizeof header.name).put(fileName(path));
  if (!haveRoom(header.number)) {
    giveUp();
    return error;
  }
  const long published = publishPart(header, pieces, count);
  if (published < 0) return isRefusal(published) ? error : published;
  if (kind != wire::LogPartKind::kLog || offset != 0) return 0;
  // Whether anyone takes parts of this process shows with the first one.
  const Fate fate = await(header.number);
  if (fate == Fate::kTaken) return 0;
  putName(own, header.number, wire::kPartInfix);
  if (rawSyscall(SYS_unlinkat, AT_FDCWD, address(own), 0) == -ENOENT) return 0;
  if (fate == Fate::kWaiting) giveUp();
  return error;
}

}  // namespace omnio::trace
