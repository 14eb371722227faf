#include "trace/runtime/handle_table.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <atomic>
#include <cstring>
#include <iterator>

#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/runtime/sys/thread_sanitizer.hpp"

namespace omnio::trace {

namespace detail {
std::atomic<Page*> pages[kPages];
}

namespace {

// Blocks of one size, named by place (from 1 up; 0 is none), taken and given back without a lock.
// The tag beside the head keeps a block that was taken and given back meanwhile from being
// mistaken for one that never left.
template <std::size_t kBlockBytes, std::size_t kBlocksInSlab, std::size_t kSlabs>
class Pool {
 public:
  char* at(std::uint32_t place) {
    return slabs_[place / kBlocksInSlab].load(std::memory_order_acquire) +
           place % kBlocksInSlab * kBlockBytes;
  }

  std::uint32_t take() {
    std::uint64_t head = head_.load(std::memory_order_acquire);
    while (static_cast<std::uint32_t>(head) != 0) {
      const auto place = static_cast<std::uint32_t>(head);
      const std::uint32_t next = linkOf(place);
      if (head_.compare_exchange_weak(head, tagged(head, next), std::memory_order_acq_rel)) {
        return place;
      }
    }
    // A place is used up only when there is memory for it: where memory is short this fails often.
    std::uint32_t place = next_.load(std::memory_order_relaxed);
    do {
      if (!hasMemory(place / kBlocksInSlab)) return 0;
    } while (!next_.compare_exchange_weak(place, place + 1, std::memory_order_relaxed));
    return place;
  }

  void give(std::uint32_t place) {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      link(place).store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, tagged(head, place), std::memory_order_acq_rel));
  }

 private:
  bool hasMemory(std::size_t slab) {
    if (slab >= kSlabs) return false;
    return mappedOnce(slabs_[slab], kBlockBytes * kBlocksInSlab) != nullptr;
  }
  // When another thread takes the block at this moment, and has filled it already, the link is
  // nonsense. Then the head's tag is another too, and the exchange fails.
  std::uint32_t linkOf(std::uint32_t place) {
    const RacingRead racing;
    return link(place).load(std::memory_order_relaxed);
  }

  // The link lies behind the first word, so that a handle info's own word stays 0 while free.
  std::atomic<std::uint32_t>& link(std::uint32_t place) {
    return reinterpret_cast<std::atomic<std::uint32_t>*>(at(place))[1];
  }
  static std::uint64_t tagged(std::uint64_t head, std::uint32_t place) {
    return ((head >> 32) + 1) << 32 | place;
  }

  std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint32_t> next_{1};
  std::atomic<char*> slabs_[kSlabs];
};

constinit Pool<sizeof(HandleInfo), 64, 16384> infos;
constinit Pool<wire::kMaxText, 4, 4096> long_paths;
std::atomic<std::uint32_t> next_handle{1};

HandleInfo& info(std::uint32_t place) { return *reinterpret_cast<HandleInfo*>(infos.at(place)); }

// The word of the descriptor, whose page is made when there is none; nullptr of no descriptor, of
// one beyond the table, and when memory runs out.
std::atomic<std::uint64_t>* madeWordOf(int fd) {
  const unsigned page = static_cast<unsigned>(fd) >> detail::kPageBits;
  if (page >= detail::kPages) return nullptr;
  mappedOnce(detail::pages[page], sizeof(detail::Page));
  return wordOf(fd);
}

// The descriptor means this from now on, whatever it meant before: the kernel has given its number
// to a new open file.
void setEntry(int fd, Entry entry) {
  std::atomic<std::uint64_t>* const word = madeWordOf(fd);
  if (word == nullptr) return;
  releaseHandle(Entry(word->exchange(entry.word(), std::memory_order_acq_rel)));
}

// What was found out about a descriptor that was not known. Several threads may find it out at the
// same moment: the first one's entry stays, and the others give their own up for it. (Were it
// replaced, the first thread would go on to record with a handle that has ended.) Returns the entry
// that holds; an unknown one when memory runs out.
Entry settleEntry(int fd, Entry entry) {
  std::atomic<std::uint64_t>* const word = madeWordOf(fd);
  std::uint64_t there = Entry().word();
  if (word != nullptr &&
      word->compare_exchange_strong(there, entry.word(), std::memory_order_acq_rel)) {
    return entry;
  }
  if (word == nullptr && entry.isTraced()) {
    process.events_lost.fetch_add(1, std::memory_order_relaxed);
  }
  releaseHandle(entry);
  return Entry(there);
}

struct FileFacts {
  wire::FileKind kind = wire::FileKind::kOther;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = wire::kUnknownSize;
};

wire::FileKind kindOf(unsigned mode) {
  return S_ISREG(mode)   ? wire::FileKind::kRegular
         : S_ISDIR(mode) ? wire::FileKind::kDirectory
                         : wire::FileKind::kOther;
}

// Type and identity, and the size as far as the file system's client has it: asking a parallel file
// system for a fresh one would cost a round of its locks.
bool factsOf(int fd, FileFacts& facts) {
  struct statx x;
  const long result = rawSyscall(SYS_statx, fd, address(""), AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
                                 STATX_TYPE | STATX_INO | STATX_SIZE, address(&x));
  if (result == 0) {
    facts.device = makedev(x.stx_dev_major, x.stx_dev_minor);
    facts.inode = x.stx_ino;
    facts.kind = kindOf(x.stx_mode);
    const bool has_size = (x.stx_mask & STATX_SIZE) != 0 && facts.kind == wire::FileKind::kRegular;
    if (has_size) facts.size = static_cast<std::int64_t>(x.stx_size);
    return true;
  }
  if (result == -EBADF) return false;
  // Kernels before 4.11 have no statx, and container runtimes have forbidden it for years.
  struct stat s;
  if (rawSyscall(SYS_fstat, fd, address(&s)) != 0) return false;
  facts.device = static_cast<std::uint64_t>(s.st_dev);
  facts.inode = s.st_ino;
  facts.kind = kindOf(s.st_mode);
  if (facts.kind == wire::FileKind::kRegular) facts.size = s.st_size;
  return true;
}

void copyPath(HandleInfo& to, const wire::PathParts& path) {
  std::size_t bytes = path.size();
  char* out = to.path;
  to.long_path = 0;
  if (bytes > kShortPath) {
    to.long_path = long_paths.take();
    if (to.long_path != 0) {
      out = long_paths.at(to.long_path);
      if (bytes > wire::kMaxText) bytes = wire::kMaxText;
    } else {
      bytes = kShortPath;
    }
  }
  to.path_bytes = static_cast<std::uint16_t>(bytes);
  std::size_t raw = path.nameOffset();
  if (raw > bytes) raw = bytes;
  to.raw_offset = static_cast<std::uint16_t>(raw);
  if (raw != 0) {
    std::memcpy(out, path.directory.data(), raw - 1);
    out[raw - 1] = '/';
  }
  std::memcpy(out + raw, path.name.data(), bytes - raw);
}

// A handle with all its facts, which no descriptor has yet. `complete` fills what is special. When
// memory runs out, the entry is unknown, and it is tried again with the next call.
template <typename Complete>
Entry makeHandle(int fd, const wire::PathParts& path, const FileFacts& facts, Complete complete) {
  const std::uint32_t place = infos.take();
  if (place == 0) {
    process.events_lost.fetch_add(1, std::memory_order_relaxed);
    return Entry();
  }
  noticeFork();  // its parent may give the same number to a file of its own
  HandleInfo& i = info(place);
  const std::uint32_t handle = next_handle.fetch_add(1, std::memory_order_relaxed);
  i.fd = fd;
  i.description = handle;
  i.birth_pid = process.pid;
  i.open_flags = 0;
  i.kind = facts.kind;
  i.origin = wire::Origin::kOpened;
  i.device = facts.device;
  i.inode = facts.inode;
  i.size = facts.size;
  i.position = wire::kUnknownPosition;
  copyPath(i, path);
  complete(i);
  i.handle.store(handle, std::memory_order_release);
  return Entry(handle, place);
}

// The path as the kernel knows it, read into a block of the pool of long paths, since the calling
// thread's stack may be small.
std::string_view pathByKernel(int fd, std::uint32_t block) {
  char link[32];
  Text(link, sizeof link).put("/proc/self/fd/").putNumber(static_cast<unsigned>(fd));
  char* path = long_paths.at(block);
  const long bytes =
      rawSyscall(SYS_readlinkat, AT_FDCWD, address(link), address(path), wire::kMaxText);
  return bytes > 0 ? std::string_view(path, static_cast<std::size_t>(bytes)) : "?";
}

// Whether ".." is a component: what that leads to depends on links, which the kernel has followed.
bool leadsUp(std::string_view name) {
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    if (name[i] == '.' && name[i + 1] == '.' && (i == 0 || name[i - 1] == '/') &&
        (i + 2 == name.size() || name[i + 2] == '/')) {
      return true;
    }
  }
  return false;
}

// The same of a file that was opened by `path`, and is open as `opened` now.
template <typename Complete>
Entry makeNamedHandle(int fd, int opened, const wire::PathParts& path, const FileFacts& facts,
                      Complete complete) {
  const std::uint32_t block = leadsUp(path.name) ? long_paths.take() : 0;
  if (block == 0) return makeHandle(fd, path, facts, complete);
  const wire::PathParts resolved{.directory = {}, .name = pathByKernel(opened, block)};
  const Entry entry = makeHandle(fd, resolved, facts, complete);
  long_paths.give(block);
  return entry;
}

}  // namespace

Entry adopt(int fd) {
  if (fd < 0 || !isActive() || isVforkChild() || isOwnDescriptor(fd)) return Entry();
  FileFacts facts;
  if (!factsOf(fd, facts)) return Entry();  // not open
  if (facts.kind == wire::FileKind::kOther) return settleEntry(fd, Entry::notTraced());
  const std::uint32_t block = long_paths.take();
  if (block == 0) {  // the same: the call that asks will not be recorded
    process.events_lost.fetch_add(1, std::memory_order_relaxed);
    return Entry();
  }
  const wire::PathParts parts{.directory = {}, .name = pathByKernel(fd, block)};
  const Filter filter = filterOf(parts);
  Entry entry = Entry::notTraced(filter);
  if (filter == Filter::kNone) {
    entry = makeHandle(fd, parts, facts, [fd](HandleInfo& i) {
      i.origin = wire::Origin::kInherited;
      const long flags = rawSyscall(SYS_fcntl, fd, F_GETFL);
      i.open_flags = flags > 0 ? static_cast<std::uint32_t>(flags) : 0;
      if (i.kind != wire::FileKind::kRegular) return;
      const long position = rawSyscall(SYS_lseek, fd, 0, SEEK_CUR);
      if (position >= 0) i.position = position;
    });
  }
  long_paths.give(block);
  return entry.isKnown() ? settleEntry(fd, entry) : entry;
}

void adoptAll() {
  constexpr std::uint64_t kMost = 65536;
  rlimit limit{};
  if (rawSyscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, address(&limit)) != 0) return;
  const auto count = static_cast<int>(limit.rlim_cur < kMost ? limit.rlim_cur : kMost);
  for (int fd = 0; fd < count; ++fd) find(fd);
}

Entry openHandle(int fd, const wire::PathParts& path, std::uint32_t open_flags) {
  // The application may have closed the tracer's descriptor by a way of its own, and got its
  // number.
  if (isOwnDescriptor(fd)) [[unlikely]]
    forgetOwnDescriptor();
  if (thread.depth > 0) {
    LibraryOpen& seen = thread.library_open;
    seen.fds[seen.opened++ % std::size(seen.fds)] = fd;
  }
  FileFacts facts;
  // Where a filter of system calls lets the tracer not ask: what has been opened by name is a file.
  const bool is_known = factsOf(fd, facts);
  if (!is_known && isForbidden(SYS_fstat)) facts.kind = wire::FileKind::kRegular;
  if (facts.kind == wire::FileKind::kOther) {
    markNotTraced(fd);
    return Entry::notTraced();
  }
  const auto complete = [open_flags](HandleInfo& i) { i.open_flags = open_flags; };
  const Entry entry = makeNamedHandle(fd, fd, path, facts, complete);
  setEntry(fd, entry);
  return entry;
}

namespace {

// The facts of a file that the library has opened by that path and not closed yet.
bool factsFromLibrary(const wire::PathParts& path, FileFacts& facts) {
  const RacingRead racing;
  for (const int fd : thread.library_open.fds) {
    const Entry entry = lookUp(fd);
    if (!entry.isTraced()) continue;
    const HandleInfo& from = infoOf(entry);
    const wire::PathParts opened = partsOf(from);
    if (opened.directory != path.directory || opened.name != path.name) continue;
    const FileFacts seen{.kind = from.kind, .device = from.device, .inode = from.inode};
    if (!isStill(from, entry.handle())) continue;
    facts = seen;
    return true;
  }
  return false;
}

}  // namespace

Entry openFile(const char* name, const wire::PathParts& path, std::uint32_t open_flags,
               bool exists) {
  constexpr int kNoDescriptor = -1;
  FileFacts facts{.kind = wire::FileKind::kRegular};
  const auto complete = [open_flags](HandleInfo& i) { i.open_flags = open_flags; };
  if (!exists) return makeHandle(kNoDescriptor, path, facts, complete);
  if (factsFromLibrary(path, facts)) return makeHandle(kNoDescriptor, path, facts, complete);
  const long fd = rawSyscall(SYS_openat, AT_FDCWD, address(name), O_PATH | O_CLOEXEC);
  if (fd < 0) return makeHandle(kNoDescriptor, path, facts, complete);
  factsOf(static_cast<int>(fd), facts);
  const Entry entry = makeNamedHandle(kNoDescriptor, static_cast<int>(fd), path, facts, complete);
  rawSyscall(SYS_close, fd);
  return entry;
}

Entry duplicateHandle(int fd, Entry source) {
  const RacingRead racing;
  const HandleInfo& from = infoOf(source);
  const FileFacts facts{.kind = from.kind, .device = from.device, .inode = from.inode};
  const Entry entry = makeHandle(fd, partsOf(from), facts, [&from, source](HandleInfo& i) {
    const std::uint32_t own_description = i.description;
    i.origin = wire::Origin::kDuplicated;
    i.description = from.description;
    i.birth_pid = from.birth_pid;
    i.open_flags = from.open_flags;
    if (isStill(from, source.handle())) return;
    // Another thread has closed the source meanwhile: what was copied may be another file's.
    i.description = own_description;
    i.birth_pid = process.pid;
    if (i.long_path != 0) long_paths.give(i.long_path);
    copyPath(i, {.directory = {}, .name = "?"});
  });
  setEntry(fd, entry);
  return entry;
}

void markNotTraced(int fd, Filter filter) { setEntry(fd, Entry::notTraced(filter)); }

Entry takeOut(int fd) {
  std::atomic<std::uint64_t>* const word = wordOf(fd);
  if (word == nullptr || word->load(std::memory_order_relaxed) == 0) return Entry();
  return Entry(word->exchange(0, std::memory_order_acq_rel));
}

void releaseHandle(Entry entry) {
  if (!entry.isTraced()) return;
  HandleInfo& i = info(entry.place());
  i.handle.store(0, std::memory_order_release);
  if (i.long_path != 0) long_paths.give(i.long_path);
  infos.give(entry.place());
}

TakenHandles::TakenHandles(unsigned first, unsigned last) {
  constexpr std::uint64_t kPerPage = 1U << detail::kPageBits;
  constexpr std::uint64_t kAll = kPerPage * detail::kPages;
  Entry before;
  for (std::uint64_t fd = first; fd <= last && fd < kAll; ++fd) {
    if (wordOf(static_cast<int>(fd)) == nullptr) {
      fd |= kPerPage - 1;  // nothing on this page
      continue;
    }
    const Entry entry = takeOut(static_cast<int>(fd));
    if (!entry.isTraced()) continue;
    // Unused while a handle lives: it is the link of places that are free.
    info(entry.place()).next_free.store(0, std::memory_order_relaxed);
    if (before.isTraced()) {
      info(before.place()).next_free.store(entry.place(), std::memory_order_relaxed);
    } else {
      first_ = entry;
    }
    before = entry;
  }
}

TakenHandles::~TakenHandles() {
  for (Entry entry = first_; entry.isTraced();) {
    const Entry next = nextOf(entry);
    releaseHandle(entry);
    entry = next;
  }
}

void TakenHandles::putBack() {
  for (Entry entry = first_; entry.isTraced();) {
    const Entry next = nextOf(entry);
    settleEntry(infoOf(entry).fd, entry);
    entry = next;
  }
  first_ = Entry();
}

Entry TakenHandles::nextOf(Entry entry) {
  const std::uint32_t place = info(entry.place()).next_free.load(std::memory_order_relaxed);
  return place == 0 ? Entry() : Entry(info(place).handle.load(std::memory_order_relaxed), place);
}

const HandleInfo& infoOf(Entry entry) { return info(entry.place()); }

std::string_view pathOf(const HandleInfo& i) {
  const std::uint32_t block = i.long_path;
  const std::size_t bytes = i.path_bytes;
  if (block != 0) return {long_paths.at(block), bytes};
  // Facts that another thread is changing may not fit each other; no more is read than is there.
  return {i.path, bytes < kShortPath ? bytes : kShortPath};
}

wire::PathParts partsOf(const HandleInfo& i) {
  const std::string_view path = pathOf(i);
  const std::size_t raw = i.raw_offset;
  if (raw == 0 || raw > path.size()) return {.directory = {}, .name = path};
  return {.directory = {path.data(), raw - 1}, .name = {path.data() + raw, path.size() - raw}};
}

bool isStill(const HandleInfo& i, std::uint32_t handle) {
  // An exchange and no load: what was read before it cannot move behind it.
  return i.handle.fetch_add(0, std::memory_order_acq_rel) == handle;
}

namespace {

// Directories take turns in a few places, so that a thread that still reads an earlier one reads
// bytes that stay. A thread reads bytes that are being written (see RacingRead) only when others
// change directory kPlaces times during one of its relative opens.
//
// Each look at the directory has a number of its own, so that no two threads fill one place. The
// highest number is the newest directory: the kernel was asked after the number was taken, and a
// number is taken after the change of directory that it is for.
constexpr unsigned kPlaces = 16;
constexpr std::size_t kMaxDirectory = 4096;

struct Directory {
  std::size_t bytes = 0;
  char path[kMaxDirectory] = {};
};

Directory places[kPlaces];
std::atomic<unsigned> looks{0};  // numbers taken
std::atomic<unsigned> last{0};   // place of the current directory is last % kPlaces; 0: not known

// Stands for a directory that is itself left out, or no directory: what is relative to it is left
// out as well.
constexpr std::string_view kLeftOut = "?";

// The part in front of the slash: nothing, but not null, for the root.
std::string_view directoryOf(std::string_view path) {
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  return path;
}

}  // namespace

void workingDirectoryIsOwn() {
  if (thread.own_directory == nullptr) {
    thread.own_directory = static_cast<char*>(mapAnonymous(kMaxDirectory));
  }
}

void workingDirectoryChanged() {
  if (thread.own_directory != nullptr) return;  // asked for when it is needed
  const unsigned number = looks.fetch_add(1, std::memory_order_acq_rel) + 1;
  Directory& place = places[number % kPlaces];
  const long bytes = rawSyscall(SYS_getcwd, address(place.path), kMaxDirectory);
  if (bytes > 1 && place.path[0] == '/') {
    place.bytes = static_cast<std::size_t>(bytes) - 1;  // the kernel counts the NUL
  } else {
    std::memcpy(place.path, "?", 2);  // removed, or out of reach
    place.bytes = 1;
  }
  unsigned newest = last.load(std::memory_order_relaxed);
  // Numbers wrap around.
  while (static_cast<int>(number - newest) > 0 &&
         !last.compare_exchange_weak(newest, number, std::memory_order_acq_rel)) {
  }
}

DirectoryBefore::DirectoryBefore() {
  if (thread.own_directory == nullptr) return;
  workingDirectory();
  thread.keeps_own_directory = true;
}

DirectoryBefore::~DirectoryBefore() { thread.keeps_own_directory = false; }

std::string_view workingDirectory() {
  if (thread.own_directory != nullptr) {
    if (!thread.keeps_own_directory) {
      const long bytes = rawSyscall(SYS_getcwd, address(thread.own_directory), kMaxDirectory);
      thread.own_directory_bytes = static_cast<std::uint16_t>(bytes > 1 ? bytes - 1 : 0);
    }
    const std::size_t bytes = thread.own_directory_bytes;
    if (bytes == 0 || thread.own_directory[0] != '/') return kLeftOut;
    return {thread.own_directory, bytes};
  }
  if (last.load(std::memory_order_acquire) == 0) workingDirectoryChanged();
  const Directory& place = places[last.load(std::memory_order_acquire) % kPlaces];
  return {place.path, place.bytes};
}

namespace {

// Paths that were asked of the kernel, in turns, as those of directories above.
char followed[kPlaces][kMaxDirectory];
std::atomic<unsigned> next_followed{0};

char* placeToFollow() {
  return followed[next_followed.fetch_add(1, std::memory_order_relaxed) % kPlaces];
}

// Of an open directory; kLeftOut where it has no name.
std::string_view kernelPath(int fd) {
  char* const place = placeToFollow();
  char link[32];
  Text(link, sizeof link).put("/proc/self/fd/").putNumber(static_cast<unsigned>(fd));
  const long bytes =
      rawSyscall(SYS_readlinkat, AT_FDCWD, address(link), address(place), kMaxDirectory);
  if (bytes <= 0 || place[0] != '/') return kLeftOut;
  return directoryOf({place, static_cast<std::size_t>(bytes)});
}

}  // namespace

wire::PathParts resolvePath(int dirfd, const char* name) {
  const std::string_view words = name == nullptr ? "" : name;
  if (!words.empty() && words[0] == '/') return {.directory = {}, .name = words};
  if (dirfd != AT_FDCWD) {
    const Entry entry = find(dirfd);
    if (entry.isTraced()) return {.directory = directoryOf(pathOf(infoOf(entry))), .name = words};
    // What lies in a directory that a default filter leaves out may be recorded.
    const bool is_by_default = entry.filter() >= Filter::kFirstDefault;
    return {.directory = is_by_default ? kernelPath(dirfd) : kLeftOut, .name = words};
  }
  return {.directory = directoryOf(workingDirectory()), .name = words};
}

Filter filterOf(const wire::PathParts& path) {
  if (path.directory.data() == kLeftOut.data()) return Filter::kOther;
  const Settings& settings = process.settings;
  if (settings.include[0] != '\0' && wire::matchesAny(settings.include, path)) return Filter::kNone;
  const std::size_t place = wire::firstDefaultMatch(path);
  if (place != wire::kNoPattern) {
    return static_cast<Filter>(static_cast<std::size_t>(Filter::kFirstDefault) + place);
  }
  const bool is_left_out = settings.exclude[0] != '\0' && wire::matchesAny(settings.exclude, path);
  return is_left_out ? Filter::kOther : Filter::kNone;
}

namespace {

// Takes the kernel's name of an open file as the path, where that is recorded. A file without a
// name, or whose name was removed, keeps what it was called.
Filter takeKernelName(int fd, std::string_view more, wire::PathParts& path, Filter filter) {
  constexpr std::string_view kRemoved = " (deleted)";
  char* const place = placeToFollow();
  char link[32];
  Text(link, sizeof link).put("/proc/self/fd/").putNumber(static_cast<unsigned>(fd));
  const long bytes =
      rawSyscall(SYS_readlinkat, AT_FDCWD, address(link), address(place), kMaxDirectory);
  if (bytes <= 0 || place[0] != '/') return filter;
  auto size = static_cast<std::size_t>(bytes);
  if (std::string_view(place, size).ends_with(kRemoved)) return filter;
  if (!more.empty()) {
    if (size + 1 + more.size() > kMaxDirectory) return filter;
    if (place[size - 1] != '/') place[size++] = '/';
    std::memcpy(place + size, more.data(), more.size());
    size += more.size();
  }
  const wire::PathParts known{.directory = {}, .name = {place, size}};
  const Filter of_known = filterOf(known);
  if (of_known == Filter::kNone) path = known;
  return of_known;
}

}  // namespace

wire::PathParts sharedMemoryPath(const char* name) {
  constexpr std::string_view kDirectory = "/dev/shm/";
  std::string_view words = name;
  if (words.starts_with('/')) words.remove_prefix(1);
  if (words.size() > kMaxDirectory - kDirectory.size()) {
    words.remove_suffix(words.size() - (kMaxDirectory - kDirectory.size()));  // it will fail
  }
  char* const place = placeToFollow();
  std::memcpy(place, kDirectory.data(), kDirectory.size());
  std::memcpy(place + kDirectory.size(), words.data(), words.size());
  return {.directory = {}, .name = {place, kDirectory.size() + words.size()}};
}

namespace {

bool beginsWith(const wire::PathParts& path, std::string_view words) {
  if (path.size() < words.size()) return false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (path[i] != words[i]) return false;
  }
  return true;
}

}  // namespace

bool mayLeadElsewhere(const wire::PathParts& path, Filter filter) {
  return filter >= Filter::kFirstDefault &&
         (beginsWith(path, "/proc/") || beginsWith(path, "/dev/"));
}

Filter followOpened(int fd, wire::PathParts& path, Filter filter) {
  FileFacts facts;
  if (!factsOf(fd, facts)) return filter;
  // Devices and pipes are no files, whatever their names are.
  if (facts.kind == wire::FileKind::kOther) return Filter::kOther;
  return takeKernelName(fd, {}, path, filter);
}

Filter followName(int dirfd, const char* name, bool stays_at_link, wire::PathParts& path,
                  Filter filter) {
  const long flags = O_PATH | O_CLOEXEC | (stays_at_link ? O_NOFOLLOW : 0);
  long fd = rawSyscall(SYS_openat, dirfd, address(name), flags);
  std::string_view last;
  if (fd == -ENOENT) {
    // What the call has removed, or did not find: its directory is there.
    const std::string_view words = name;
    const std::size_t slash = words.rfind('/');
    if (slash == words.npos || slash == 0 || slash >= kMaxDirectory) return filter;
    char* const place = placeToFollow();
    std::memcpy(place, words.data(), slash);
    place[slash] = '\0';
    last = words;
    last.remove_prefix(slash + 1);  // substr() may throw: libstdc++
    fd = rawSyscall(SYS_openat, dirfd, address(place), O_PATH | O_CLOEXEC);
  }
  if (fd < 0) return filter;
  filter = takeKernelName(static_cast<int>(fd), last, path, filter);
  rawSyscall(SYS_close, fd);
  return filter;
}

}  // namespace omnio::trace
