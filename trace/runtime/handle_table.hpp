// The table says which file a descriptor of this process stands for. It goes by descriptor number,
// two levels deep, without bound or lock. Each traced descriptor has a handle, the number of an
// open instance, which is never used again in the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/wire/definition.hpp"
#include "core/wire/path_pattern.hpp"

namespace omnio::trace {

// What leaves a path out: nothing, a pattern of the caller's (or no path is known), or one of
// wire::kDefaultExclude, which have the numbers from kFirstDefault on.
enum class Filter : std::uint8_t { kNone = 0, kOther = 1, kFirstDefault = 2 };
static_assert(wire::kDefaultPatterns < 250);

// The meaning of a descriptor, in one word that is read and exchanged as a whole.
class Entry {
 public:
  constexpr Entry() = default;
  constexpr explicit Entry(std::uint64_t word) : word_(word) {}
  constexpr Entry(std::uint32_t handle, std::uint32_t place)
      : word_(static_cast<std::uint64_t>(handle) << 32 | place) {}
  static constexpr Entry notTraced(Filter filter = Filter::kOther) {
    return Entry(static_cast<std::uint64_t>(filter));
  }

  constexpr bool isKnown() const { return word_ != 0; }
  constexpr bool isTraced() const { return word_ >> 32 != 0; }
  // Of one that is known and not traced: why.
  constexpr Filter filter() const { return isTraced() ? Filter::kNone : Filter(word_); }
  constexpr std::uint32_t handle() const { return static_cast<std::uint32_t>(word_ >> 32); }
  constexpr std::uint32_t place() const { return static_cast<std::uint32_t>(word_); }
  constexpr std::uint64_t word() const { return word_; }

 private:
  std::uint64_t word_ = 0;
};

inline constexpr std::size_t kShortPath = 184;

// Facts of a handle, in memory that is used again after it ends, and never unmapped. `handle` is
// 0 while they change: a reader that finds another number after reading has read facts that do not
// belong together. Such a reader marks its reads by a RacingRead (sys/thread_sanitizer.hpp), which
// says why they are safe.
struct HandleInfo {
  mutable std::atomic<std::uint32_t> handle{0};
  std::atomic<std::uint32_t> next_free{0};
  std::int32_t fd = -1;
  std::uint32_t description = 0;
  std::uint32_t birth_pid = 0;
  std::uint32_t open_flags = 0;
  wire::FileKind kind = wire::FileKind::kRegular;
  wire::Origin origin = wire::Origin::kOpened;
  std::uint16_t path_bytes = 0;
  std::uint16_t raw_offset = 0;
  std::uint32_t long_path = 0;  // place in the pool of long paths, or 0
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = wire::kUnknownSize;
  std::int64_t position = wire::kUnknownPosition;
  char path[kShortPath] = {};
};
static_assert(sizeof(HandleInfo) == 256);

namespace detail {
inline constexpr unsigned kPageBits = 10;
inline constexpr std::size_t kPages = 16384;  // 16,777,216 descriptors
struct Page {
  std::atomic<std::uint64_t> entries[1U << kPageBits];
};
extern std::atomic<Page*> pages[kPages];
}  // namespace detail

// The word of a descriptor; nullptr of no descriptor, and where nothing near it is known yet.
[[gnu::always_inline]] inline std::atomic<std::uint64_t>* wordOf(int fd) {
  const auto number = static_cast<unsigned>(fd);
  if (number >> detail::kPageBits >= detail::kPages) return nullptr;
  detail::Page* page = detail::pages[number >> detail::kPageBits].load(std::memory_order_acquire);
  return page == nullptr ? nullptr : &page->entries[number & ((1U << detail::kPageBits) - 1)];
}

// The entry of a descriptor; one that is not known may still be a file (see adopt).
[[gnu::always_inline]] inline Entry lookUp(int fd) {
  const std::atomic<std::uint64_t>* word = wordOf(fd);
  return word == nullptr ? Entry() : Entry(word->load(std::memory_order_acquire));
}

// A descriptor that was open before recording began, or came over exec: finds out what it is.
Entry adopt(int fd);
// All descriptors that are open, while the kernel can still be asked what they are.
void adoptAll();
[[gnu::always_inline]] inline Entry find(int fd) {
  const Entry entry = lookUp(fd);
  return entry.isKnown() ? entry : adopt(fd);
}
// Gives a new descriptor a handle. Not traced when it is neither file nor directory.
Entry openHandle(int fd, const wire::PathParts& path, std::uint32_t open_flags);
// A handle of a file that is not worked on by descriptor: an MPI file, whose open has succeeded
// when it `exists`. `path` is what `name` stands for, which is relative to the working directory.
Entry openFile(const char* name, const wire::PathParts& path, std::uint32_t open_flags,
               bool exists);
Entry duplicateHandle(int fd, Entry source);
void markNotTraced(int fd, Filter filter = Filter::kOther);

// Takes the descriptor out of the table before it is closed, since another thread may get its
// number back at once. The handle's facts stay until releaseHandle.
Entry takeOut(int fd);
void releaseHandle(Entry entry);
// Handles that were taken out together, until they are released. They hang together by their
// facts, since nothing here may allocate.
class TakenHandles {
 public:
  // Takes out all descriptors in [first, last].
  TakenHandles(unsigned first, unsigned last);
  TakenHandles(const TakenHandles&) = delete;
  TakenHandles& operator=(const TakenHandles&) = delete;
  ~TakenHandles();

  // They have not been closed after all: each is put back, unless its number has got another handle
  // meanwhile.
  void putBack();
  // Calls `action` with the entry of each that was traced, by number.
  template <typename Action>
  void forEach(Action action) const {
    for (Entry entry = first_; entry.isTraced(); entry = nextOf(entry)) action(entry);
  }

 private:
  static Entry nextOf(Entry entry);

  Entry first_;
};

const HandleInfo& infoOf(Entry entry);
std::string_view pathOf(const HandleInfo& info);
// The same, parted into what the application gave and the directory in front of it.
wire::PathParts partsOf(const HandleInfo& info);
// Whether these are still the facts of `handle`, and so were all that was read of them before.
bool isStill(const HandleInfo& info, std::uint32_t handle);

// From what an application passes as a path to an absolute one, and whether it is recorded.
//
// The working directory, known without a system call until the application changes it.
std::string_view workingDirectory();
// After a successful chdir or fchdir.
void workingDirectoryChanged();
// While it lives, the calling thread's names are relative to the directory that it was in before:
// a name is looked at when its call is over.
class DirectoryBefore {
 public:
  DirectoryBefore();
  DirectoryBefore(const DirectoryBefore&) = delete;
  DirectoryBefore& operator=(const DirectoryBefore&) = delete;
  ~DirectoryBefore();
};
// The calling thread shares it with no other thread from now on.
void workingDirectoryIsOwn();

// `name` relative to `dirfd` (AT_FDCWD: the working directory). Views into the tracer's and the
// application's memory, good until the next change of directory.
wire::PathParts resolvePath(int dirfd, const char* name);

Filter filterOf(const wire::PathParts& path);
inline bool isRecorded(const wire::PathParts& path) { return filterOf(path) == Filter::kNone; }

// The file that shm_open means by a name without a slash behind its first character: the C library
// has it in /dev/shm.
wire::PathParts sharedMemoryPath(const char* name);

// Whether a path that is left out may lead to a file which is not: below /dev and /proc there are
// names of files that lie elsewhere (/dev/stdout, /dev/fd/N, /proc/self/cwd/...).
bool mayLeadElsewhere(const wire::PathParts& path, Filter filter);
// For such a path, of a call that has opened `fd`: the name by which the kernel knows the file,
// where that is recorded. Else the path stays as it is. Returns what leaves it out.
Filter followOpened(int fd, wire::PathParts& path, Filter filter);
// The same of a call that opens nothing, or has failed. `stays_at_link`: it is about a link itself.
Filter followName(int dirfd, const char* name, bool stays_at_link, wire::PathParts& path,
                  Filter filter);

}  // namespace omnio::trace
