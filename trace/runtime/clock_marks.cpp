#include "trace/runtime/clock_marks.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#include <cstring>
#include <string_view>

#include "core/wire/clock.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/mpi_groups.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/raw_syscall.hpp"
#include "trace/runtime/text.hpp"

namespace omnio::trace {
namespace {

// Rank 0's mark, with the list in it: a file that is there before it is looked for, since a network
// file system may hold on to the news that a name is not.
constexpr char kList[] = "0";
constexpr char kEndOfList = '.';

std::uint64_t hashOf(std::string_view text, std::uint64_t hash = 0) {
  for (const char c : text) hash = mixed(hash, static_cast<unsigned char>(c));
  return mixed(hash, text.size());
}

std::uint64_t hashOfFile(const char* path, std::uint64_t hash) {
  const long fd = rawSyscall(SYS_openat, AT_FDCWD, address(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return hash;
  char text[64];
  const long bytes = rawSyscall(SYS_read, fd, address(text), sizeof text);
  rawSyscall(SYS_close, fd);
  return bytes > 0 ? hashOf({text, static_cast<std::size_t>(bytes)}, hash) : hash;
}

std::uint64_t hashOfLink(const char* path, std::uint64_t hash) {
  char text[64];
  const long bytes =
      rawSyscall(SYS_readlinkat, AT_FDCWD, address(path), address(text), sizeof text);
  return bytes > 0 ? hashOf({text, static_cast<std::size_t>(bytes)}, hash) : hash;
}

// What readers tell clocks apart by (core/trace_clocks.cpp).
std::uint64_t ownDomain() {
  std::uint64_t hash = hashOfFile("/proc/sys/kernel/random/boot_id", 0);
  if (hash == 0) return process.token;
  hash = hashOfLink("/proc/self/ns/time", hash);
  return hashOf(process.settings.test_clock.text, hash);
}

bool isEqual(const char* a, const char* b) {
  return a != nullptr && b != nullptr && strcmp(a, b) == 0;
}

void sleepNs(long ns) {
  const timespec nap = {.tv_sec = 0, .tv_nsec = ns};
  rawSyscall(SYS_nanosleep, address(&nap), 0);
}

// "RANK.DOMAIN", of which rank 0's has no domain.
bool parseMark(const char* text, ClockLeader& leader) {
  const char* at = text;
  std::int64_t rank = 0;
  for (; *at >= '0' && *at <= '9' && at - text < 9; ++at) rank = rank * 10 + (*at - '0');
  if (at == text || *at != '.') return false;
  leader = {.rank = static_cast<std::int32_t>(rank)};
  for (++at; *at != '\0'; ++at) {
    const char* const digit = strchr("0123456789abcdef", *at);
    if (digit == nullptr) return false;
    leader.domain = leader.domain << 4 | static_cast<std::uint64_t>(digit - "0123456789abcdef");
  }
  return true;
}

}  // namespace

void ClockMarks::leave() {
  const LauncherIdentity& launcher = launcherIdentity();
  if (!isActive() || launcher.ranks < 2 || *launcher.job == '\0' || !launcher.first_on_node) return;
  if (isEqual(getenv("OMPI_COMM_WORLD_SIZE"), getenv("OMPI_COMM_WORLD_LOCAL_SIZE"))) return;
  own_ = {.rank = launcher.rank, .domain = ownDomain()};
  Text(directory_, sizeof directory_)
      .put(process.settings.directory)
      .put("/clocks.")
      .putHex(jobNumber(), 16);
  Text name(name_, sizeof name_);
  if (own_.rank == 0) {
    name.put(kList);
  } else {
    name.putNumber(static_cast<std::uint64_t>(own_.rank)).putByte('.').putHex(own_.domain, 16);
  }
  const long made = rawSyscall(SYS_mkdirat, AT_FDCWD, address(directory_), 0777);
  if (made < 0 && made != -EEXIST) return;
  const long fd = openOwn(name_, O_WRONLY | O_CREAT | O_TRUNC);
  if (fd < 0) return;
  rawSyscall(SYS_close, fd);
  is_left_ = true;
}

long ClockMarks::openOwn(const char* name, int flags) const {
  char path[sizeof directory_ + sizeof name_];
  Text(path, sizeof path).put(directory_).putByte('/').put(name);
  return rawSyscall(SYS_openat, AT_FDCWD, address(path), flags | O_CLOEXEC, 0666);
}

std::size_t ClockMarks::read(ClockLeader* into, std::size_t most) const {
  struct Entry {  // as getdents64(2) has it
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
  };
  alignas(Entry) static char buffer[32 * 1024];
  const long fd =
      rawSyscall(SYS_openat, AT_FDCWD, address(directory_), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return 0;
  std::size_t count = 0;
  long bytes = 0;
  while ((bytes = rawSyscall(SYS_getdents64, fd, address(buffer), sizeof buffer)) > 0) {
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      if (count < most && parseMark(entry->name, into[count])) ++count;
      at += entry->length;
    }
  }
  rawSyscall(SYS_close, fd);
  return count;
}

bool ClockMarks::publish(const ClockLeader* leaders, std::size_t count) const {
  const long fd = openOwn(kList, O_WRONLY);
  if (fd < 0) return false;
  char block[4096];
  Text text(block, sizeof block);
  bool all = true;
  const auto put = [&] {
    const auto size = static_cast<long>(text.size());
    all = all && rawSyscall(SYS_write, fd, address(block), size) == size;
    text = Text(block, sizeof block);
  };
  for (std::size_t i = 0; i < count; ++i) {
    constexpr std::size_t kMostDigits = 12;
    if (text.room() < kMostDigits) put();
    text.putNumber(static_cast<std::uint64_t>(leaders[i].rank)).putByte(' ');
  }
  if (text.room() == 0) put();
  text.putByte(kEndOfList);
  put();
  rawSyscall(SYS_close, fd);
  return all;
}

bool ClockMarks::isMeant() const {
  constexpr std::uint64_t kLongestNs = 1'000'000'000;
  constexpr long kLongestNapNs = 20'000'000;
  const std::uint64_t since = wire::systemNs(CLOCK_MONOTONIC);
  for (long nap = 50'000;; nap = nap < kLongestNapNs ? 2 * nap : nap) {
    // Opened anew each time: that is when a network file system asks its server.
    const long fd = openOwn(kList, O_RDONLY);
    if (fd < 0) return false;  // rank 0 is not traced, or has gone on
    bool is_meant = false;
    bool is_whole = false;
    std::int64_t number = 0;
    char block[4096];
    long bytes = 0;
    while (!is_whole && (bytes = rawSyscall(SYS_read, fd, address(block), sizeof block)) > 0) {
      for (long i = 0; i < bytes && !is_whole; ++i) {
        if (block[i] == kEndOfList) {
          is_whole = true;
        } else if (block[i] == ' ') {
          is_meant = is_meant || number == own_.rank;
          number = 0;
        } else {
          number = number * 10 + (block[i] - '0');
        }
      }
    }
    rawSyscall(SYS_close, fd);
    // Also a list that came late is too late: rank 0 waits no longer than it takes to read one.
    if (wire::systemNs(CLOCK_MONOTONIC) - since > kLongestNs) return false;
    if (is_whole) return is_meant;
    sleepNs(nap);
  }
}

void ClockMarks::remove() {
  if (!is_left_) return;
  is_left_ = false;
  char path[sizeof directory_ + sizeof name_];
  Text(path, sizeof path).put(directory_).putByte('/').put(name_);
  rawSyscall(SYS_unlinkat, AT_FDCWD, address(path), 0);
  // The last one takes the directory along.
  rawSyscall(SYS_unlinkat, AT_FDCWD, address(directory_), AT_REMOVEDIR);
}

}  // namespace omnio::trace
