// mmap and its like. The kernel tells in /proc/self/pagemap which pages of a mapping the process
// has in its page tables (Documentation/admin-guide/mm/pagemap.rst): those that it has read or
// written, and up to 15 around a page that was read, where the page cache had them (fault-around).
// Pages that the kernel has taken back since are not told.
#include "trace/wrap/mappings.hpp"

#include <errno.h>
#include <stdarg.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "core/wire/clock.hpp"
#include "trace/runtime/moved_bytes.hpp"
#include "trace/runtime/sys/own_clone.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/runtime/sys/waiting.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

using calls::Role;

// The system tells it when the library is loaded.
std::uint64_t page_bytes = 4096;
constexpr std::uint64_t kMostOfOneEvent = std::uint64_t{4} << 20;
constexpr off64_t kRingsEntries = 0x10000000;  // IORING_OFF_SQES (linux/io_uring.h)

// A file as it was when it was mapped.
struct MappedFile {
  std::uint64_t bytes = 0;
  dev_t device = 0;
  ino_t inode = 0;
  timespec changed{};
  bool was_just_changed = false;  // a write soon after may not change its time again
};

struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;     // 0: a free place
  std::uint64_t offset = 0;   // in the file
  std::uint64_t cut_off = 0;  // bytes of the mapping as it was made that were before its begin
  std::uint64_t number = 0;   // from 1
  MappedFile file;
  Entry handle;  // of its own: descriptors are closed while files are mapped
  bool is_private = false;
  bool may_write = false;
  bool is_inherited = false;      // of the process that this one was forked from
  unsigned char* told = nullptr;  // a bit for each page that an event has told of
};

constexpr std::size_t kMappings = 4096;
Mapping mappings[kMappings];
std::atomic<std::size_t> used{0};  // places up to the last one that was ever used
std::atomic<std::uint64_t> numbers{0};
std::atomic<std::uint32_t> owner{0};   // the process that they are of
std::atomic<std::uint32_t> locker{0};  // the process of which a thread is at work on them; 0: none

std::uint64_t pagesOf(const Mapping& mapping) { return (mapping.end - mapping.begin) / page_bytes; }

// A forked child finds the mappings of its parent in the table, which the parent records.
void inherit() {
  for (std::size_t i = 0; i < used.load(std::memory_order_relaxed); ++i) {
    Mapping& mapping = mappings[i];
    if (mapping.end == 0) continue;
    mapping.is_inherited = true;
    std::memset(mapping.told, 0, pagesOf(mapping) / 8 + 1);
  }
}

// Signals are held, too: a handler may map or unmap. A forked child does not wait for a thread that
// it does not have. The lock is not given when its holder does not go on (waiting.hpp): a debugger
// has stopped it, or it asks a server about a file that does not answer. Then the mapping at hand
// is not followed.
class MappingLock {
 public:
  MappingLock() : is_ours_(waitWhile(isTaken)) {
    if (!is_ours_) {
      countNotFollowed();
      return;
    }
    if (owner.load(std::memory_order_relaxed) == process.pid) return;
    inherit();
    owner.store(process.pid);
  }
  MappingLock(const MappingLock&) = delete;
  MappingLock& operator=(const MappingLock&) = delete;
  ~MappingLock() {
    if (is_ours_) locker.store(0, std::memory_order_release);
  }
  explicit operator bool() const { return is_ours_; }

 private:
  static bool isTaken() {
    std::uint32_t holder = 0;
    while (!locker.compare_exchange_strong(holder, process.pid, std::memory_order_acquire)) {
      if (holder == process.pid) return true;
    }
    return false;
  }

  const HeldSignals held_{};
  const bool is_ours_;
};

Mapping* freePlace() {
  for (std::size_t i = 0; i < kMappings; ++i) {
    const bool is_new = i >= used.load(std::memory_order_relaxed);
    if (is_new) {
      mappings[i] = {};
      used.store(i + 1);
    }
    if (mappings[i].end == 0) return &mappings[i];
  }
  return nullptr;
}

// Whether the file has been written since it was mapped, by its time. True where it is not found
// any more, since nothing speaks against it. Where a server does not answer, this waits as long as
// the application's next call on the file does.
bool hasChanged(const char* path, const MappedFile& file) {
  struct stat about {};
  const long result =
      rawSyscall(SYS_newfstatat, AT_FDCWD, address(path), address(&about), AT_NO_AUTOMOUNT);
  return result != 0 || about.st_dev != file.device || about.st_ino != file.inode ||
         about.st_mtim.tv_sec != file.changed.tv_sec ||
         about.st_mtim.tv_nsec != file.changed.tv_nsec;
}

// Whether the kernel counts dirty pages in it (smaps, proc(5)), or its file has changed: pages that
// the kernel has written back since are clean again.
bool hasWrittenPages(const Mapping& mapping) {
  char text[1024];
  const long fd =
      rawSyscall(SYS_openat, AT_FDCWD, address("/proc/self/smaps"), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  char head[24];
  Text start(head, sizeof head);
  start.putHex(mapping.begin, 1).putByte('-');
  bool is_there = false;
  bool is_written = false;
  bool is_over = false;
  std::size_t kept = 0;
  while (!is_over) {
    const long got =
        rawSyscall(SYS_read, fd, address(text + kept), static_cast<long>(sizeof text - kept));
    if (got <= 0) break;
    std::string_view lines(text, kept + static_cast<std::size_t>(got));
    for (std::size_t end = lines.find('\n'); end != lines.npos && !is_over;
         end = lines.find('\n')) {
      const std::string_view line = lines.substr(0, end);
      text[lines.data() + end - text] = '\0';  // the path is the last word
      lines.remove_prefix(end + 1);
      if (line.starts_with(start.words())) {
        is_there = true;
        const std::size_t path = line.find('/');
        is_written = path == line.npos || hasChanged(line.data() + path, mapping.file);
        is_over = is_written;
      } else if (is_there &&
                 (line.starts_with("Shared_Dirty:") || line.starts_with("Private_Dirty:"))) {
        is_written = is_written || line.find_first_of("123456789") != line.npos;
        is_over = is_over || line.starts_with("Private_Dirty:");
      }
    }
    kept = lines.size();
    std::memmove(text, lines.data(), kept);
    if (kept == sizeof text) break;
  }
  rawSyscall(SYS_close, fd);
  return !is_there || is_written;
}

// Whether the touched pages of a shared mapping that may be written count as written. The kernel's
// answer takes time linear in all mappings of the process, so this asks for at most 1 % of the time
// since it asked first; else they count as written. Under the lock.
bool isWritten(const Mapping& mapping) {
  if (mapping.file.was_just_changed) return true;
  constexpr std::uint64_t kFreeNs = 10'000'000;
  static std::uint64_t first_ns = 0;
  static std::uint64_t asking_ns = 0;
  const std::uint64_t begin = wire::systemNs(CLOCK_MONOTONIC);
  if (first_ns == 0) first_ns = begin;
  if (asking_ns > kFreeNs + (begin - first_ns) / 100) return true;
  const bool is_written = hasWrittenPages(mapping);
  asking_ns += wire::systemNs(CLOCK_MONOTONIC) - begin;
  return is_written;
}

// Touched pages that follow each other, of one kind.
struct Run {
  std::uint64_t begin = 0;  // page of the mapping
  std::uint64_t end = 0;
  bool is_written = false;
};

template <CallId kCall>
void recordRun(Thread& self, wire::EventTimes times, const Mapping& mapping, std::uint64_t offset,
               std::uint64_t bytes) {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  Subject subject;
  subject.handle = mapping.handle;
  wire::Arguments<kCall> values{};
  values[calls::indexOf(row, Role::kSize)] = static_cast<std::int64_t>(bytes);
  values[calls::indexOf(row, Role::kOffset)] = static_cast<std::int64_t>(offset);
  values[calls::indexOf(row, Role::kMapping)] = static_cast<std::int64_t>(mapping.number);
  record<kCall>(self, times, false, values, bytes, static_cast<std::int64_t>(bytes), subject);
}

// The length of the mapped file by now: it may have grown or been cut since. Where it is not
// found under its name any more, the length that it had when it was mapped says where it ends.
struct FileEnd {
  std::uint64_t bytes = 0;
  bool is_current = false;
};
FileEnd endOfFile(const Mapping& mapping) {
  char path[1024];  // a thread's stack may be small
  const std::string_view name = pathOf(infoOf(mapping.handle));
  if (name.size() < sizeof path) {
    std::memcpy(path, name.data(), name.size());
    path[name.size()] = '\0';
    struct stat about {};
    const long result =
        rawSyscall(SYS_newfstatat, AT_FDCWD, address(path), address(&about), AT_NO_AUTOMOUNT);
    if (result == 0 && S_ISREG(about.st_mode) && about.st_dev == mapping.file.device &&
        about.st_ino == mapping.file.inode && about.st_size >= 0) {
      return {.bytes = static_cast<std::uint64_t>(about.st_size), .is_current = true};
    }
  }
  return {.bytes = mapping.file.bytes};
}

void tellRun(Thread& self, std::uint64_t at, const Mapping& mapping, const Run& run,
             const FileEnd& file) {
  const std::uint64_t end = mapping.offset + run.end * page_bytes;
  const std::uint64_t end_of_pages = (file.bytes + page_bytes - 1) / page_bytes * page_bytes;
  // A file has grown that has pages behind its end of then.
  const bool has_grown = !file.is_current && end > end_of_pages;
  const std::uint64_t last = has_grown ? end : std::min(end, file.bytes);
  for (std::uint64_t offset = mapping.offset + run.begin * page_bytes; offset < last;
       offset += kMostOfOneEvent) {
    const std::uint64_t bytes = std::min(last - offset, kMostOfOneEvent);
    const wire::EventTimes times{.start = at, .end = at};
    if (run.is_written) {
      recordRun<CallId::map_write>(self, times, mapping, offset, bytes);
    } else {
      recordRun<CallId::map_read>(self, times, mapping, offset, bytes);
    }
  }
}

// These pages are no part of it any more.
void takeAway(Mapping& mapping, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t page = first; page < last; ++page) {
    mapping.told[page / 8] |= static_cast<unsigned char>(1U << page % 8);
  }
}

// Tells of the pages in [first, last) that were touched and not told of before. Of an inherited
// mapping it counts only that it was touched: the trace of this process does not have its mmap, and
// the kernel gives a child no pages of a shared mapping before it touches them.
void tellTouched(Thread& self, std::uint64_t at, Mapping& mapping, std::uint64_t first,
                 std::uint64_t last) {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
  constexpr std::uint64_t kSwapped = std::uint64_t{1} << 62;
  constexpr std::uint64_t kOfFile = std::uint64_t{1} << 61;
  const long fd =
      rawSyscall(SYS_openat, AT_FDCWD, address("/proc/self/pagemap"), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return countNotFollowed();
  bool is_asked = mapping.is_private || !mapping.may_write;  // most mappings have no touched pages
  bool writes_shared = false;
  std::uint64_t entries[128];  // a thread's stack may be small
  Run run;
  FileEnd file;
  bool has_end = false;
  const auto tell = [&] {
    if (!has_end) file = endOfFile(mapping);
    has_end = true;
    tellRun(self, at, mapping, run, file);
  };
  for (std::uint64_t page = first; page < last;) {
    const std::uint64_t count = std::min(last - page, std::size(entries));
    const long got = rawSyscall(SYS_pread64, fd, address(entries), static_cast<long>(count * 8),
                                static_cast<long>((mapping.begin / page_bytes + page) * 8));
    if (got <= 0) break;
    const std::uint64_t pages = static_cast<std::uint64_t>(got) / 8;
    for (std::uint64_t i = 0; i < pages; ++i, ++page) {
      unsigned char& told = mapping.told[page / 8];
      const auto bit = static_cast<unsigned char>(1U << page % 8);
      if ((entries[i] & (kPresent | kSwapped)) == 0 || (told & bit) != 0) continue;
      // Something else is there by now.
      if (!mapping.is_private && (entries[i] & (kOfFile | kSwapped)) == 0) continue;
      if (mapping.is_inherited) {
        if (!mapping.is_private) countNotFollowed();
        takeAway(mapping, 0, pagesOf(mapping));  // it counts once
        page = last;
        break;
      }
      told |= bit;
      if (!is_asked) writes_shared = isWritten(mapping);
      is_asked = true;
      // A page of a private mapping that was written is a copy: the file was read for it.
      const bool is_written = !mapping.is_private && writes_shared;
      if (run.end == page && run.is_written == is_written && run.begin != run.end) {
        ++run.end;
        continue;
      }
      if (run.begin != run.end) tell();
      run = {.begin = page, .end = page + 1, .is_written = is_written};
    }
    if (pages == 0) break;
  }
  if (run.begin != run.end) tell();
  rawSyscall(SYS_close, fd);
}

// Of `pages` pages from `first`; nullptr where memory is missing.
unsigned char* copyOfTold(const Mapping& mapping, std::uint64_t first, std::uint64_t pages) {
  auto* const copy = static_cast<unsigned char*>(mapAnonymous(pages / 8 + 1));
  const std::uint64_t there = pagesOf(mapping) > first ? pagesOf(mapping) - first : 0;
  for (std::uint64_t page = 0; copy != nullptr && page < std::min(pages, there); ++page) {
    const std::uint64_t from = first + page;
    const unsigned bit = mapping.told[from / 8] >> from % 8 & 1U;
    copy[page / 8] |= static_cast<unsigned char>(bit << page % 8);
  }
  return copy;
}

void release(Mapping& mapping) {
  bool is_last = !mapping.is_inherited;  // of its number
  for (std::size_t i = 0; i < used.load(std::memory_order_relaxed) && is_last; ++i) {
    const Mapping& other = mappings[i];
    is_last = other.end == 0 || other.number != mapping.number || &other == &mapping;
  }
  if (is_last) releaseHandle(mapping.handle);
  unmap(mapping.told, pagesOf(mapping) / 8 + 1);
  mapping = {};
}

// The pages [first, last) of it are no longer mapped. What was behind them is a mapping of its own,
// with the same number.
void cutOut(Mapping& mapping, std::uint64_t first, std::uint64_t last) {
  if (last < pagesOf(mapping)) {
    Mapping* const place = freePlace();
    unsigned char* const told =
        place == nullptr ? nullptr : copyOfTold(mapping, last, pagesOf(mapping) - last);
    if (told == nullptr) {
      countNotFollowed();
      return takeAway(mapping, first, last);
    }
    *place = mapping;
    place->begin += last * page_bytes;
    place->offset += last * page_bytes;
    place->cut_off += last * page_bytes;
    place->told = told;
  }
  if (first == 0) return release(mapping);
  unsigned char* const told = copyOfTold(mapping, 0, first);
  if (told == nullptr) return takeAway(mapping, first, pagesOf(mapping));
  unmap(mapping.told, pagesOf(mapping) / 8 + 1);
  mapping.told = told;
  mapping.end = mapping.begin + first * page_bytes;
}

// Calls `action` with each mapping that overlaps, and its pages that do.
template <typename Action>
void forOverlapping(const void* where, std::size_t length, Action action) {
  const auto begin = reinterpret_cast<std::uintptr_t>(where);
  const std::uintptr_t end = begin + (length + page_bytes - 1) / page_bytes * page_bytes;
  for (std::size_t i = 0; i < used.load(std::memory_order_relaxed); ++i) {
    Mapping& mapping = mappings[i];
    if (mapping.end == 0 || mapping.end <= begin || end <= mapping.begin) continue;
    action(mapping, (std::max(begin, mapping.begin) - mapping.begin) / page_bytes,
           (std::min(end, mapping.end) - mapping.begin) / page_bytes);
  }
}

bool hasMappings() { return used.load(std::memory_order_relaxed) > 0; }

bool isRing(int fd) {
  char path[32];
  Text(path, sizeof path).put("/proc/self/fd/").putNumber(static_cast<unsigned>(fd));
  char name[32];
  const long bytes =
      rawSyscall(SYS_readlinkat, AT_FDCWD, address(path), address(name), sizeof name);
  return bytes > 0 &&
         std::string_view(name, static_cast<std::size_t>(bytes)) == "anon_inode:[io_uring]";
}

// An allocator may map memory before any function can be looked up.
using Map = void*(void*, std::size_t, int, int, int, off64_t);
std::atomic<Map*> real_map{nullptr};
std::atomic<int (*)(void*, std::size_t)> real_unmap{nullptr};
std::atomic<int (*)(void*, std::size_t, int)> real_sync{nullptr};
using Remap = void*(void*, std::size_t, std::size_t, int, ...);
std::atomic<Remap*> real_remap{nullptr};

__attribute__((constructor)) void lookUpMappings() {
  page_bytes = getauxval(AT_PAGESZ);
  real_map.store(reinterpret_cast<Map*>(nextSymbol("mmap64")));
  real_unmap.store(reinterpret_cast<int (*)(void*, std::size_t)>(nextSymbol("munmap")));
  real_remap.store(reinterpret_cast<Remap*>(nextSymbol("mremap")));
  real_sync.store(reinterpret_cast<int (*)(void*, std::size_t, int)>(nextSymbol("msync")));
}

void* callMap(void* where, std::size_t length, int protection, int flags, int fd, off64_t offset) {
  Map* const real = real_map.load(std::memory_order_relaxed);
  if (real != nullptr) return real(where, length, protection, flags, fd, offset);
  return reinterpret_cast<void*>(syscall(SYS_mmap, where, length, protection, flags, fd, offset));
}

int callUnmap(void* where, std::size_t length) {
  auto* const real = real_unmap.load(std::memory_order_relaxed);
  return real != nullptr ? real(where, length)
                         : static_cast<int>(syscall(SYS_munmap, where, length));
}

// A mapping that is made in the same place ends what was there.
void replace(Thread& self, std::uint64_t at, const void* where, std::size_t length) {
  forOverlapping(where, length, [&](Mapping& mapping, std::uint64_t first, std::uint64_t last) {
    tellTouched(self, at, mapping, first, last);
    cutOut(mapping, first, last);
  });
}

MappedFile fileOf(int fd) {
  constexpr std::int64_t kTicksNs =
      20'000'000;  // two of the clock that times of files are read from
  struct stat about {};
  if (rawSyscall(SYS_fstat, fd, address(&about)) != 0) return {};
  constexpr std::int64_t kSecondNs = 1'000'000'000;
  const auto now = static_cast<std::int64_t>(wire::systemNs(CLOCK_REALTIME));
  // Times of files may be of any year.
  const std::int64_t seconds =
      std::clamp<std::int64_t>(now / kSecondNs - about.st_mtim.tv_sec, -2, 2);
  const std::int64_t ago = seconds * kSecondNs + now % kSecondNs - about.st_mtim.tv_nsec;
  const bool has_size = S_ISREG(about.st_mode) && about.st_size > 0;
  return {.bytes = has_size ? static_cast<std::uint64_t>(about.st_size) : 0,
          .device = about.st_dev,
          .inode = about.st_ino,
          .changed = about.st_mtim,
          .was_just_changed = -kTicksNs < ago && ago < kTicksNs};
}

void keep(void* where, std::size_t length, int protection, int flags, off64_t offset,
          const MappedFile& file, std::uint64_t number, Entry handle) {
  Mapping* const place = handle.isTraced() ? freePlace() : nullptr;
  const std::uint64_t pages = (length + page_bytes - 1) / page_bytes;
  auto* const told =
      place == nullptr ? nullptr : static_cast<unsigned char*>(mapAnonymous(pages / 8 + 1));
  if (told == nullptr) {
    countNotFollowed();
    return releaseHandle(handle);
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(where);
  *place = {.begin = begin,
            .end = begin + pages * page_bytes,
            .offset = static_cast<std::uint64_t>(offset),
            .number = number,
            .file = file,
            .handle = handle,
            .is_private = (flags & MAP_PRIVATE) != 0 && (flags & MAP_SHARED) == 0,
            .may_write = (protection & PROT_WRITE) != 0,
            .told = told};
}

void* map(void* where, std::size_t length, int protection, int flags, int fd, off64_t offset,
          CallId as) {
  Thread& self = thread;
  const bool takes_place = (flags & MAP_FIXED) != 0 && hasMappings();
  const bool is_of_file = fd >= 0 && (flags & MAP_ANONYMOUS) == 0;
  if ((!is_of_file && !takes_place) || !mayRecord(self) || !isActive()) {
    return callMap(where, length, protection, flags, fd, offset);
  }
  if (takes_place) {
    const MappingLock lock;
    if (lock) replace(self, ticks(), where, length);
  }
  Subject subject;
  if (is_of_file) subject.handle = find(fd);
  if (!subject.handle.isTraced()) {
    void* const result = callMap(where, length, protection, flags, fd, offset);
    const int error = errno;
    if (is_of_file && offset == kRingsEntries && result != MAP_FAILED && isRing(fd)) countRing();
    errno = error;
    return result;
  }
  wire::EventTimes times;
  times.start = leaveThinking(self);
  void* const result = callMap(where, length, protection, flags, fd, offset);
  const int error = errno;
  times.end = ticks();
  constexpr const calls::Row& row = calls::rowOf(CallId::mmap);
  wire::Arguments<CallId::mmap> values{};
  const MappedFile file = fileOf(fd);
  const std::uint64_t number =
      result == MAP_FAILED ? 0 : numbers.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number != 0) process.works_unseen.store(true, std::memory_order_relaxed);
  values[calls::indexOf(row, Role::kLength)] = static_cast<std::int64_t>(length);
  values[calls::indexOf(row, Role::kNumber)] = protection;
  values[calls::indexOf(row, Role::kFlags)] = flags;
  values[calls::indexOf(row, Role::kOffset)] = offset;
  values[calls::indexOf(row, Role::kMapping)] = static_cast<std::int64_t>(number);
  values[calls::indexOf(row, Role::kFileSize)] = static_cast<std::int64_t>(file.bytes);
  record<CallId::mmap>(self, times, result == MAP_FAILED, values, 0,
                       result == MAP_FAILED ? error : 0, subject, as);
  if (result != MAP_FAILED) {
    const Entry kept = duplicateHandle(-1, subject.handle);
    const MappingLock lock;
    if (lock) {
      keep(result, length, protection, flags, offset, file, number, kept);
    } else {
      releaseHandle(kept);
    }
  }
  errno = error;
  return result;
}

int endMapping(void* where, std::size_t length) {
  Thread& self = thread;
  const bool is_valid = reinterpret_cast<std::uintptr_t>(where) % page_bytes == 0 && length > 0;
  if (!is_valid || !hasMappings() || !mayRecord(self) || !isActive()) {
    return callUnmap(where, length);
  }
  wire::EventTimes times;
  times.start = leaveThinking(self);
  struct Part {
    std::uint64_t number;
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  Part parts[8];
  std::size_t count = 0;
  {
    const MappingLock lock;
    if (!lock) return callUnmap(where, length);
    forOverlapping(where, length, [&](Mapping& mapping, std::uint64_t first, std::uint64_t last) {
      tellTouched(self, times.start, mapping, first, last);
      if (!mapping.is_inherited && count < std::size(parts)) {
        parts[count++] = {mapping.number, mapping.cut_off + first * page_bytes,
                          (last - first) * page_bytes};
      }
      cutOut(mapping, first, last);
    });
  }
  if (count == 0) return callUnmap(where, length);
  times.start = ticks();
  const int result = callUnmap(where, length);
  const int error = errno;
  times.end = ticks();
  for (std::size_t i = 0; i < count; ++i) {
    constexpr const calls::Row& row = calls::rowOf(CallId::munmap);
    wire::Arguments<CallId::munmap> values{};
    values[calls::indexOf(row, Role::kMapping)] = static_cast<std::int64_t>(parts[i].number);
    values[calls::indexOf(row, Role::kRangeOffset)] = static_cast<std::int64_t>(parts[i].offset);
    values[calls::indexOf(row, Role::kLength)] = static_cast<std::int64_t>(parts[i].bytes);
    record<CallId::munmap>(self, times, result != 0, values, 0, result != 0 ? error : 0, Subject{});
    times.start = times.end;
  }
  errno = error;
  return result;
}

// The whole of a mapping is followed to its new place; a part of one is not.
bool follow(Mapping& mapping, void* new_where, std::size_t new_length) {
  const std::uint64_t pages = (new_length + page_bytes - 1) / page_bytes;
  unsigned char* const told = mapping.cut_off == 0 ? copyOfTold(mapping, 0, pages) : nullptr;
  if (told == nullptr) return false;
  unmap(mapping.told, pagesOf(mapping) / 8 + 1);
  mapping.begin = reinterpret_cast<std::uintptr_t>(new_where);
  mapping.end = mapping.begin + pages * page_bytes;
  mapping.told = told;
  return true;
}

void* remap(void* where, std::size_t length, std::size_t new_length, int flags, void* new_where) {
  auto* const known = real_remap.load(std::memory_order_relaxed);
  const auto call = [&] {
    return known != nullptr ? known(where, length, new_length, flags, new_where)
                            : reinterpret_cast<void*>(
                                  syscall(SYS_mremap, where, length, new_length, flags, new_where));
  };
  Thread& self = thread;
  if (!hasMappings() || !mayRecord(self) || !isActive()) return call();
  wire::EventTimes times;
  times.start = leaveThinking(self);
  std::uint64_t number = 0;  // of the mapping that it is the whole of
  void* result = nullptr;
  int error = 0;
  {
    const MappingLock lock;
    if (!lock) return call();
    forOverlapping(where, length, [&](Mapping& mapping, std::uint64_t first, std::uint64_t last) {
      tellTouched(self, times.start, mapping, first, last);
    });
    if ((flags & MREMAP_FIXED) != 0) replace(self, times.start, new_where, new_length);
    times.start = ticks();
    result = call();
    error = errno;
    times.end = ticks();
    const bool was_moved = result != MAP_FAILED && length > 0;
    forOverlapping(where, was_moved ? length : 0,
                   [&](Mapping& mapping, std::uint64_t first, std::uint64_t last) {
                     const bool is_whole = first == 0 && last == pagesOf(mapping);
                     if (is_whole && follow(mapping, result, new_length)) {
                       number = mapping.is_inherited ? 0 : mapping.number;
                     } else {
                       countNotFollowed();
                       cutOut(mapping, first, last);
                     }
                   });
  }
  if (number != 0) {
    constexpr const calls::Row& row = calls::rowOf(CallId::mremap);
    wire::Arguments<CallId::mremap> values{};
    values[calls::indexOf(row, Role::kMapping)] = static_cast<std::int64_t>(number);
    values[calls::indexOf(row, Role::kLength)] = static_cast<std::int64_t>(new_length);
    record<CallId::mremap>(self, times, false, values, 0, 0, Subject{});
  }
  errno = error;
  return result;
}

int synchronise(void* where, std::size_t length, int flags) {
  auto* const known = real_sync.load(std::memory_order_relaxed);
  const auto call = [&] {
    return known != nullptr ? known(where, length, flags)
                            : static_cast<int>(syscall(SYS_msync, where, length, flags));
  };
  Thread& self = thread;
  if (!hasMappings() || !mayRecord(self) || !isActive()) return call();
  wire::EventTimes times;
  times.start = leaveThinking(self);
  std::uint64_t number = 0;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  {
    const MappingLock lock;
    if (!lock) return call();
    forOverlapping(where, length, [&](Mapping& mapping, std::uint64_t first, std::uint64_t last) {
      tellTouched(self, times.start, mapping, first, last);
      if (number != 0 || mapping.is_inherited) return;  // hardly ever are there several
      number = mapping.number;
      begin = mapping.cut_off + first * page_bytes;
      bytes = (last - first) * page_bytes;
    });
  }
  if (number == 0) return call();
  times.start = ticks();
  const int result = call();
  const int error = errno;
  times.end = ticks();
  constexpr const calls::Row& row = calls::rowOf(CallId::msync);
  wire::Arguments<CallId::msync> values{};
  values[calls::indexOf(row, Role::kMapping)] = static_cast<std::int64_t>(number);
  values[calls::indexOf(row, Role::kRangeOffset)] = static_cast<std::int64_t>(begin);
  values[calls::indexOf(row, Role::kLength)] = static_cast<std::int64_t>(bytes);
  values[calls::indexOf(row, Role::kFlags)] = flags;
  record<CallId::msync>(self, times, result != 0, values, 0, result != 0 ? error : 0, Subject{});
  errno = error;
  return result;
}

}  // namespace

void recordMappings() {
  Thread& self = thread;
  if (!hasMappings() || !mayRecord(self) || !isActive() || isVforkChild()) return;
  const MappingLock lock;
  if (!lock) return;
  for (std::size_t i = 0; i < used.load(std::memory_order_relaxed); ++i) {
    Mapping& mapping = mappings[i];
    if (mapping.end != 0) tellTouched(self, ticks(), mapping, 0, pagesOf(mapping));
  }
}

}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_EXPORT void* mmap(void* where, size_t length, int protection, int flags, int fd,
                        off_t offset) noexcept {
  return map(where, length, protection, flags, fd, offset, CallId::mmap);
}
OMNIO_EXPORT void* mmap64(void* where, size_t length, int protection, int flags, int fd,
                          off64_t offset) noexcept {
  return map(where, length, protection, flags, fd, offset, CallId::mmap64);
}
OMNIO_EXPORT int munmap(void* where, size_t length) noexcept { return endMapping(where, length); }
OMNIO_EXPORT int msync(void* where, size_t length, int flags) {
  return synchronise(where, length, flags);
}
OMNIO_EXPORT void* mremap(void* where, size_t length, size_t new_length, int flags, ...) noexcept {
  va_list list;
  va_start(list, flags);
  void* const new_where = (flags & MREMAP_FIXED) != 0 ? va_arg(list, void*) : nullptr;
  va_end(list);
  return remap(where, length, new_length, flags, new_where);
}
