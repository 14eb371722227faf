#include "trace/runtime/clock_marks.hpp"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include <cstring>
#include <string_view>

#include "core/wire/clock.hpp"
#include "core/wire/hex_number.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {
namespace {

constexpr char kEndOfList = '!';

void sleepNs(long ns) {
  const timespec nap = {.tv_sec = 0, .tv_nsec = ns};
  rawSyscall(SYS_nanosleep, address(&nap), 0);
}

// "RANK.DOMAIN", of which rank 0's has no domain.
bool parseMark(const char* text, ClockLeader& leader) {
  constexpr int kMostDigits = 9;
  const char* at = text;
  std::int32_t rank = 0;
  for (; *at >= '0' && *at <= '9' && at - text < kMostDigits; ++at) rank = rank * 10 + (*at - '0');
  if (at == text || *at != '.') return false;
  ++at;
  leader = {.rank = rank};
  std::string_view domain = at;
  return wire::takeHexNumber(domain, 16, leader.domain) && domain.empty();
}

// Takes the list out of the blocks of rank 0's mark.
class ListReader {
 public:
  ListReader(ClockLeader* into, std::size_t most) : into_(into), most_(most) {}

  bool isWhole() const { return is_whole_; }
  std::size_t count() const { return count_; }
  void take(char c) {
    if (is_whole_) return;
    if (c == '\n') {
      is_below_ = true;
    } else if (is_below_ && c == kEndOfList) {
      is_whole_ = true;
    } else if (is_below_ && c == ' ') {
      word_[used_] = '\0';
      if (count_ < most_ && parseMark(word_, into_[count_])) ++count_;
      used_ = 0;
    } else if (is_below_ && used_ + 1 < sizeof word_) {
      word_[used_++] = c;
    }
  }

 private:
  ClockLeader* into_;
  std::size_t most_;
  std::size_t count_ = 0;
  bool is_below_ = false;
  bool is_whole_ = false;
  char word_[48];
  std::size_t used_ = 0;
};

}  // namespace

// Rank 0's has a name that all know, since the list is in it: a file that is there before it is
// looked for. A network file system may hold on to the news that a name is not.
ClockMarks::Name::Name(const ClockLeader& leader) {
  Text name(text, sizeof text);
  name.putNumber(static_cast<std::uint64_t>(leader.rank));
  if (leader.rank != 0) name.putByte('.').putHex(leader.domain, 16);
}

bool ClockMarks::leave(const ClockLeader& own, const char* line) {
  own_ = own;
  Text(directory_, sizeof directory_)
      .put(process.settings.directory)
      .put("/clocks.")
      .putHex(jobNumber(), 16);
  const long made = rawSyscall(SYS_mkdirat, AT_FDCWD, address(directory_), 0777);
  if (made < 0 && made != -EEXIST) return false;
  const long fd = openMark(Name(own_), O_WRONLY | O_CREAT | O_TRUNC);
  if (fd < 0) return false;
  is_left_ = true;
  char text[512];
  Text words(text, sizeof text);
  words.put(line).putByte('\n');
  const auto size = static_cast<long>(words.size());
  const bool is_told = rawSyscall(SYS_write, fd, address(text), size) == size;
  rawSyscall(SYS_close, fd);
  if (!is_told) remove();
  return is_told;
}

long ClockMarks::openMark(const Name& name, int flags) const {
  char path[sizeof directory_ + sizeof name.text];
  Text(path, sizeof path).put(directory_).putByte('/').put(name.text);
  return rawSyscall(SYS_openat, AT_FDCWD, address(path), flags | O_CLOEXEC, 0666);
}

bool ClockMarks::readLine(const ClockLeader& of, char* line, std::size_t bytes) const {
  const long fd = openMark(Name(of), O_RDONLY);
  if (fd < 0) return false;
  const long got = rawSyscall(SYS_read, fd, address(line), static_cast<long>(bytes));
  rawSyscall(SYS_close, fd);
  auto* const end = got > 0
                        ? static_cast<char*>(std::memchr(line, '\n', static_cast<std::size_t>(got)))
                        : nullptr;
  if (end == nullptr) return false;
  *end = '\0';
  return true;
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
  const long fd = openMark(Name(own_), O_WRONLY | O_APPEND);
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
    if (text.room() < 2 * sizeof(Name)) put();
    text.put(Name(leaders[i]).text).putByte(' ');
  }
  text.putByte(kEndOfList);
  put();
  rawSyscall(SYS_close, fd);
  return all;
}

std::size_t ClockMarks::awaitList(ClockLeader* into, std::size_t most) const {
  constexpr std::uint64_t kLongestNs = 1'000'000'000;
  constexpr long kLongestNapNs = 20'000'000;
  const std::uint64_t since = wire::systemNs(CLOCK_MONOTONIC);
  for (long nap = 50'000;; nap = nap < kLongestNapNs ? 2 * nap : nap) {
    // Opened anew each time: that is when a network file system asks its server.
    const long fd = openMark(Name(ClockLeader()), O_RDONLY);
    if (fd < 0) return 0;  // rank 0 is not traced, or has gone on
    ListReader list(into, most);
    char block[4096];
    long bytes = 0;
    while ((bytes = rawSyscall(SYS_read, fd, address(block), sizeof block)) > 0) {
      for (long i = 0; i < bytes; ++i) list.take(block[i]);
    }
    rawSyscall(SYS_close, fd);
    if (list.isWhole()) return list.count();
    if (wire::systemNs(CLOCK_MONOTONIC) - since > kLongestNs) return 0;
    sleepNs(nap);
  }
}

void ClockMarks::remove() {
  if (!is_left_) return;
  is_left_ = false;
  const Name name(own_);
  char path[sizeof directory_ + sizeof name.text];
  Text(path, sizeof path).put(directory_).putByte('/').put(name.text);
  rawSyscall(SYS_unlinkat, AT_FDCWD, address(path), 0);
  // The last one takes the directory along.
  rawSyscall(SYS_unlinkat, AT_FDCWD, address(directory_), AT_REMOVEDIR);
}

}  // namespace omnio::trace
