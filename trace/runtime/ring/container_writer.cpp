#include "trace/runtime/ring/container_writer.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>

#include "core/wire/info.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/log_parts.hpp"
#include "trace/runtime/sys/own_clone.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/resource_limits.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/runtime/sys/waiting.hpp"

namespace omnio::trace {
namespace {

enum class State : int { kNone, kOpening, kOpen };

std::atomic<State> state{State::kNone};
std::atomic<int> descriptor{-1};
std::atomic<std::uint64_t> file_end{0};
std::atomic<long> refusal{0};  // -errno of its making: the container is written in parts
std::uint64_t device = 0;
std::uint64_t inode = 0;
char path[wire::kMaxTraceDirectory + 256] = {};

constexpr std::size_t kMaxFacts = 256 * 1024;

void noteError(long result) {
  if (result >= 0) return;
  const bool is_by_filter = result == -EPERM && (refusesLogs() || isForbidden(SYS_openat));
  process.error.store(is_by_filter ? wire::kFilterError : static_cast<std::uint32_t>(-result));
}

constexpr long kWanted = 1000;  // of descriptors: applications seldom have as many

// A copy of the descriptor with a number of about `from`, or less by as few steps as possible; -1
// when each of them is taken.
long duplicateBelow(long fd, long from, long step) {
  long high = -1;
  for (; high < 0 && from > fd; from -= step) {
    high = rawSyscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, from);
  }
  return high;
}

// Gives the log's descriptor a number that applications do not hand out, or rarely sweep: the first
// beyond the limit, which takes nothing of what the application may open. Where that cannot be had,
// one of about 1000 while the limit could still be raised, or is one that nothing uses up; the
// kernel's table grows with the number. Else (soft = hard) each number counts: -1, and the
// descriptor is closed. A log that is kept open also outlives a move of its directory.
int keepHigh(long fd) {
  long high = -1;
  if (const long beyond = SpareDescriptors::firstBeyond(); beyond >= 0) {
    high = rawSyscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, beyond);
  }
  rlimit limit{};
  constexpr rlim_t kNeverUsedUp = 4096;
  const bool is_spare = rawSyscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, address(&limit)) == 0 &&
                        (limit.rlim_cur < limit.rlim_max || limit.rlim_cur > kNeverUsedUp);
  if (high < 0 && is_spare && !isInOwnTable()) {
    const auto most = static_cast<long>(limit.rlim_cur);
    high = duplicateBelow(fd, most <= kWanted ? most - 8 : kWanted, 64);
  }
  rawSyscall(SYS_close, fd);
  return high >= 0 ? static_cast<int>(high) : -1;
}

bool isOurs(int fd) {
  struct stat s;
  if (isForbidden(SYS_fstat)) return fd >= 0 && fd == descriptor.load();  // it has to be believed
  return fd >= 0 && rawSyscall(SYS_fstat, fd, address(&s)) == 0 && s.st_ino == inode &&
         static_cast<std::uint64_t>(s.st_dev) == device;
}

// The kept descriptors that threads are writing to, each plus 1; 0 is a free slot. One that the
// application wants for itself is given to it when no thread is (moveOwnDescriptor): a write that
// had made sure before that the number is the log's would go into the application's file.
std::atomic<int> in_use[32];

bool isInUse(int fd) {
  for (const std::atomic<int>& slot : in_use) {
    if (slot.load() == fd + 1) return true;
  }
  return false;
}

// Holds the kept descriptor in use while it lives.
class KeptDescriptor {
 public:
  KeptDescriptor() {
    for (std::atomic<int>& slot : in_use) {
      int free = 0;
      int fd = descriptor.load();
      if (fd < 0) return;
      if (!slot.compare_exchange_strong(free, fd + 1)) continue;
      // Whoever moves it changes the number first, and looks at the slots then: either it finds
      // this one, or the number is found to be another here.
      for (int now = descriptor.load(); now != fd; now = descriptor.load()) {
        fd = now;
        slot.store(fd + 1);
      }
      fd_ = fd;
      slot_ = &slot;
      return;
    }
  }
  ~KeptDescriptor() { release(); }
  KeptDescriptor(const KeptDescriptor&) = delete;
  KeptDescriptor& operator=(const KeptDescriptor&) = delete;

  int fd() const { return fd_; }  // -1: none is kept, or more threads write than there are slots
  void release() {
    if (slot_ != nullptr) slot_->store(0);
    slot_ = nullptr;
    fd_ = -1;
  }

 private:
  std::atomic<int>* slot_ = nullptr;
  int fd_ = -1;
};

// Keeps a descriptor that was opened anew, unless another thread has done so meanwhile.
void keepAnew(int high) {
  int none = -1;
  if (high < 0 || descriptor.compare_exchange_strong(none, high)) return;
  rawSyscall(SYS_close, high);
}

// The log's descriptor for one action: the one that is kept, or one that is opened by name and
// closed again, since none is kept or the application has closed or replaced it.
class LogDescriptor {
 public:
  LogDescriptor() {
    if (isOurs(kept_.fd())) {
      fd_ = kept_.fd();
      return;
    }
    kept_.release();
    // A filter may allow to write, but no more to open. Else it is kept when that can be done
    // without taking a number of the application's.
    const long opened = rawSyscall(SYS_openat, AT_FDCWD, address(path), O_RDWR | O_CLOEXEC);
    if (opened < 0) {
      error_ = opened;
      return;
    }
    if (!isOurs(static_cast<int>(opened))) {  // another file has the name now
      rawSyscall(SYS_close, opened);
      error_ = -ESTALE;
      return;
    }
    fd_ = static_cast<int>(opened);
    is_opened_ = true;
  }
  ~LogDescriptor() {
    if (!is_opened_) return;
    if (isInOwnTable() || descriptor.load() >= 0) {
      rawSyscall(SYS_close, fd_);
    } else {
      keepAnew(keepHigh(fd_));
    }
  }
  LogDescriptor(const LogDescriptor&) = delete;
  LogDescriptor& operator=(const LogDescriptor&) = delete;

  int fd() const { return fd_; }         // -1: none
  long error() const { return error_; }  // -errno when there is none

 private:
  const HeldSignals held_{};
  const SpareDescriptors spare_{};
  KeptDescriptor kept_;
  int fd_ = -1;
  long error_ = 0;
  bool is_opened_ = false;
};

}  // namespace

bool writeAt(int fd, const iovec* pieces, int count, std::size_t bytes, std::uint64_t offset) {
  if (!withinFileSizeLimit(offset + bytes)) {
    noteError(-EFBIG);
    return false;
  }
  iovec left[8];
  if (count > 8) return false;
  std::memcpy(left, pieces, sizeof(iovec) * static_cast<std::size_t>(count));
  iovec* first = left;
  while (bytes > 0) {
    // A filter of system calls may allow only one of the two.
    const long done =
        isForbidden(SYS_pwritev)
            ? rawSyscall(SYS_pwrite64, fd, address(first->iov_base),
                         static_cast<long>(first->iov_len), static_cast<long>(offset))
            : rawSyscall(SYS_pwritev, fd, address(first), count, static_cast<long>(offset), 0);
    if (done == -EINTR) continue;
    if (done == 0 && first->iov_len == 0) {
      ++first;
      --count;
      continue;
    }
    if (done <= 0) {
      noteError(done == 0 ? -EIO : done);
      if (isForbidden(SYS_pwrite64)) process.error.store(wire::kFilterError);
      return false;
    }
    auto moved = static_cast<std::size_t>(done);
    offset += moved;
    bytes -= moved;
    while (count > 0 && moved >= first->iov_len) {
      moved -= first->iov_len;
      ++first;
      --count;
    }
    if (count > 0) {
      first->iov_base = static_cast<char*>(first->iov_base) + moved;
      first->iov_len -= moved;
    }
  }
  return true;
}

namespace {

long createFile() {
  char host[kHostBytes];
  hostName(host);
  constexpr unsigned kImages = 100000;  // images of one pid in one trace, by exec or pid reuse
  for (unsigned image = 0; image < kImages; ++image) {
    Text(path, sizeof path)
        .put(process.settings.directory)
        .putByte('/')
        .put(host)
        .putByte('.')
        .putNumber(process.pid)
        .putByte('.')
        .putNumber(image)
        .put(wire::kContainerSuffix);
    const long fd = rawSyscall(SYS_openat, AT_FDCWD, address(path),
                               O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd != -EEXIST) return fd;
  }
  return -EEXIST;
}

// Writes the header of a new container, on a descriptor that is then kept or closed, or as a part
// where making it was refused. 0 or -errno.
long writeHeader(long fd) {
  struct stat s;
  if (fd >= 0 && rawSyscall(SYS_fstat, fd, address(&s)) == 0) {
    device = static_cast<std::uint64_t>(s.st_dev);
    inode = s.st_ino;
  }
  wire::ContainerHeader header;
  header.token = process.token;
  header.pid = process.pid;
  header.clock = process.clock;
  header.begin = process.begin;
  wire::stamp(header);
  wire::Account account = currentAccount();
  account.state = wire::AccountState::kRunning;  // whatever comes of the rest
  wire::stamp(account);
  static constexpr char kZeros[wire::kContainerHeaderBytes] = {};
  const iovec pieces[] = {{&header, sizeof header},
                          {const_cast<char*>(kZeros), wire::kAccountOffset - sizeof header},
                          {&account, sizeof account},
                          {const_cast<char*>(kZeros),
                           wire::kContainerHeaderBytes - wire::kAccountOffset - sizeof account}};
  if (fd < 0) {
    const long result =
        leavePart(wire::LogPartKind::kLog, path, pieces, 4, wire::kContainerHeaderBytes, 0, fd);
    if (result < 0) return result;
    refusal.store(fd);
  } else if (!writeAt(static_cast<int>(fd), pieces, 4, wire::kContainerHeaderBytes, 0)) {
    // No header, no container: better none than one that readers would have to refuse.
    rawSyscall(SYS_unlinkat, AT_FDCWD, address(path), 0);
    rawSyscall(SYS_close, fd);
    return -EIO;
  }
  file_end.store(wire::kContainerHeaderBytes, std::memory_order_release);
  if (fd < 0) return 0;
  if (isInOwnTable()) {
    rawSyscall(SYS_close, fd);
    descriptor.store(-1, std::memory_order_release);
  } else {
    descriptor.store(keepHigh(fd), std::memory_order_release);
  }
  return 0;
}

bool create() {
  if (!withinFileSizeLimit(wire::kContainerHeaderBytes)) {
    noteError(-EFBIG);
    return false;
  }
  // Not again in the child what failed for another reason than the lack of a number.
  const long result = withDescriptor([]() -> long {
    const long fd = createFile();
    return fd < 0 && !mayLeaveParts(fd) ? fd : writeHeader(fd);
  });
  if (result != -EIO) noteError(result);  // of a write that failed the error is noted already
  return result == 0;
}

// The page cache belongs to the application and its job's memory limit. So a log is sent to its
// device as it grows, and the system told that no process will read what was sent a while ago. One
// window at a time, each once: older kernels stop all processors to look for pages that are not
// where they are asked for. File systems in memory take no notice.
void releasePages(int fd, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t kWindow = std::uint64_t{1} << 20;
  constexpr std::uint64_t kLag = 3 * kWindow;
  const std::uint64_t filled = end / kWindow * kWindow;
  if (begin >= filled) return;
  rawSyscall(SYS_sync_file_range, fd, static_cast<long>(filled - kWindow),
             static_cast<long>(kWindow), SYNC_FILE_RANGE_WRITE);
  if (filled < kLag + kWindow) return;
  rawSyscall(SYS_fadvise64, fd, static_cast<long>(filled - kLag - kWindow),
             static_cast<long>(kWindow), POSIX_FADV_DONTNEED);
}

void writeFacts() {
  char* const facts = static_cast<char*>(mapAnonymous(kMaxFacts));
  if (facts == nullptr) return;
  // Some are read from files.
  withDescriptor([facts]() -> long {
    const long probe = rawSyscall(SYS_openat, AT_FDCWD, address("/"), O_PATH | O_CLOEXEC);
    if (probe == -EMFILE || probe == -ENFILE) return probe;
    if (probe >= 0) rawSyscall(SYS_close, probe);
    appendInfo(facts, describeProcess(facts, kMaxFacts, launcherIdentity().first_on_node));
    return 0;
  });
  unmap(facts, kMaxFacts);
}

}  // namespace

bool openContainer() {
  if (hasContainer()) return true;
  const HeldSignals held;
  Patience patience;
  State seen = State::kNone;
  while (!state.compare_exchange_strong(seen, State::kOpening, std::memory_order_acquire)) {
    // This thread's events would be lost if it did not wait for the other.
    if (seen == State::kOpen || !patience.wait()) return seen == State::kOpen;
    seen = State::kNone;
  }
  const SpareDescriptors spare;
  const bool created = create();
  state.store(created ? State::kOpen : State::kNone, std::memory_order_release);
  if (created) writeFacts();
  return created;
}

void keepDescriptor() {
  int lost = descriptor.load();
  if (!hasContainer() || refusal.load() != 0 || isOurs(lost)) return;
  const HeldSignals held;
  const SpareDescriptors spare;
  const long fd = rawSyscall(SYS_openat, AT_FDCWD, address(path), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  rlimit limit{};
  long high = -1;
  if (rawSyscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, address(&limit)) == 0) {
    const bool is_low = limit.rlim_cur < static_cast<rlim_t>(kWanted);
    high = duplicateBelow(fd, (is_low ? static_cast<long>(limit.rlim_cur) : kWanted) - 1, 8);
  }
  if (high >= 0) rawSyscall(SYS_close, fd);
  const auto kept = static_cast<int>(high >= 0 ? high : fd);
  // Unless another thread keeps one by now.
  if (!descriptor.compare_exchange_strong(lost, kept)) rawSyscall(SYS_close, kept);
}

bool hasContainer() { return state.load(std::memory_order_acquire) == State::kOpen; }

int ownDescriptor() { return descriptor.load(std::memory_order_relaxed); }

bool isOwnDescriptor(int fd) {
  if (fd < 0 || fd != ownDescriptor() || !isActive()) return false;
  if (isOurs(fd)) return true;
  // Closed by a system call that passed us by, and the number may be the application's by now. In
  // the child of a vfork only its own is gone. Another thread may have moved it meanwhile, which an
  // exchange leaves alone.
  if (int old = fd; !isVforkChild()) descriptor.compare_exchange_strong(old, -1);
  return false;
}

void moveOwnDescriptor() {
  const int fd = descriptor.load();
  const long other = rawSyscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, fd + 1L);
  // Where it lies beyond the limit the application's dup2 does not reach it either.
  if (other == -EINVAL) return;
  const int moved = other >= 0 ? static_cast<int>(other) : -1;
  if (int own = fd; !descriptor.compare_exchange_strong(own, moved) && moved >= 0) {
    rawSyscall(SYS_close, moved);  // another thread has moved it
  }
  waitWhile([fd] { return isInUse(fd); });
}

void forgetOwnDescriptor() { descriptor.store(-1); }

void forgetContainer(bool close_descriptor) {
  const int fd = descriptor.exchange(-1);
  if (close_descriptor && fd >= 0 && isOurs(fd)) rawSyscall(SYS_close, fd);
  for (std::atomic<int>& slot : in_use) slot.store(0);  // of the parent's threads
  state.store(State::kNone);
  refusal.store(0);
  file_end.store(0);
}

namespace {

// Writes into the container at `offset`. False when that fails, which is noted.
bool writeLog(const iovec* pieces, int count, std::size_t bytes, std::uint64_t offset,
              bool releases_pages) {
  const long result = withDescriptor([=]() -> long {
    if (const long error = refusal.load(); error < 0) {
      return leavePart(wire::LogPartKind::kLog, path, pieces, count, bytes, offset, error);
    }
    const LogDescriptor log;
    if (log.fd() < 0) return log.error();
    if (!writeAt(log.fd(), pieces, count, bytes, offset)) return -EIO;
    if (releases_pages) releasePages(log.fd(), offset, offset + bytes);
    return 0;
  });
  if (result != -EIO) noteError(result);
  return result == 0;
}

enum class Content : std::uint8_t { kEvents, kFacts };

// The limit of the log's size is for events: facts are small, and tell of the limit too.
bool append(const iovec* pieces, int count, std::size_t bytes, Content content) {
  if (!openContainer()) return false;
  const std::uint64_t limit = content == Content::kEvents ? process.settings.max_log_size : 0;
  // Reserved, not appended: threads write at once, and what fails leaves a hole, no torn chunk.
  std::uint64_t offset = file_end.load(std::memory_order_relaxed);
  do {
    if (limit > 0 && offset + bytes > limit) {
      process.error.store(wire::kLogLimitError);
      return false;
    }
  } while (!file_end.compare_exchange_weak(offset, offset + bytes, std::memory_order_relaxed));
  if (writeLog(pieces, count, bytes, offset, true)) return true;
  // Facts are written again and again until they are there, and leave no hole each time unless
  // another thread has gone on behind them. Of events some chunks may be whole: they stay.
  std::uint64_t end = offset + bytes;
  if (content == Content::kFacts) file_end.compare_exchange_strong(end, offset);
  return false;
}

}  // namespace

bool appendChunks(const iovec* pieces, int count, std::size_t bytes) {
  return append(pieces, count, bytes, Content::kEvents);
}

bool appendInfo(const char* facts, std::size_t bytes) {
  wire::ChunkHeader header;
  header.kind = wire::ChunkKind::kInfo;
  header.token = process.token;
  header.payload_bytes = static_cast<std::uint32_t>(bytes);
  header.payload_check = wire::checksum(facts, bytes);
  wire::stamp(header);
  static constexpr char kPadding[wire::kChunkAlignment] = {};
  const std::size_t padding = wire::aligned(bytes) - bytes;
  const iovec pieces[] = {{&header, sizeof header},
                          {const_cast<char*>(facts), bytes},
                          {const_cast<char*>(kPadding), padding}};
  return append(pieces, 3, sizeof header + bytes + padding, Content::kFacts);
}

void appendIdentity() {
  char facts[4096];
  appendInfo(facts, describeIdentity(facts, sizeof facts));
}

bool appendFact(std::string_view key, std::string_view value) {
  const std::size_t bytes = key.size() + value.size() + 2;
  const Scratch<char, 256> memory(bytes + 1);
  if (!memory) return false;
  Text(memory.data(), bytes + 1).put(key).putByte('\0').put(value).putByte('\0');
  return appendInfo(memory.data(), bytes);
}

bool appendFact(std::string_view key, std::uint64_t value) {
  char digits[24];
  return appendFact(key, Text(digits, sizeof digits).putNumber(value).words());
}

wire::Account currentAccount() {
  wire::Account account;
  account.state = process.account_state.load();
  account.error = process.error.load();
  account.events_written = process.events_written.load();
  account.events_lost = process.events_lost.load();
  account.file_bytes = file_end.load();
  account.end = wire::takeAnchor(process.clock);
  wire::stamp(account);
  return account;
}

bool writeAccount() {
  if (!hasContainer()) return false;
  // Again when another thread has moved on meanwhile: of two that write at once either may be the
  // last, and the last one has to be right.
  constexpr int kTries = 8;
  wire::Account now = currentAccount();
  for (int i = 0; i < kTries; ++i) {
    wire::Account account = now;
    const iovec piece = {&account, sizeof account};
    if (!writeLog(&piece, 1, sizeof account, wire::kAccountOffset, false)) return false;
    now = currentAccount();
    if (now.state == account.state && now.events_written == account.events_written &&
        now.events_lost == account.events_lost) {
      break;
    }
  }
  return true;
}

}  // namespace omnio::trace
