#include "prefetch/storage.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>

#include "core/base/file.hpp"

namespace omnio::prefetch {
namespace {

constexpr long kCachestat = 451;  // <asm/unistd.h> of Linux 6.5
struct CachestatRange {
  std::uint64_t offset;
  std::uint64_t bytes;
};
struct Cachestat {
  std::uint64_t cached;
  std::uint64_t dirty;
  std::uint64_t in_writeback;
  std::uint64_t evicted;
  std::uint64_t recently_evicted;
};

// Those that <linux/magic.h> does not have.
constexpr long kLustre = 0x0BD00BD0;
constexpr long kGpfs = 0x47504653;
constexpr long kZfs = 0x2FC12FC1;
constexpr long kBcachefs = static_cast<long>(0xCA451A4E);
constexpr std::array kCoherent = {static_cast<long>(EXT4_SUPER_MAGIC),
                                  static_cast<long>(XFS_SUPER_MAGIC),
                                  static_cast<long>(BTRFS_SUPER_MAGIC),
                                  static_cast<long>(F2FS_SUPER_MAGIC),
                                  static_cast<long>(OVERLAYFS_SUPER_MAGIC),
                                  kLustre,
                                  kGpfs,
                                  kZfs,
                                  kBcachefs};
constexpr std::array kMemory = {static_cast<long>(TMPFS_MAGIC), static_cast<long>(RAMFS_MAGIC),
                                static_cast<long>(HUGETLBFS_MAGIC)};

// As long as a slow device may take for what it was asked; nobody waits for it but a thread of the
// helper, and other requests are made meanwhile.
bool comes(int fd, ByteRange range, const std::stop_token& stop) {
  constexpr int kTries = 1000;
  constexpr useconds_t kPauseUs = 1000;
  for (int i = 0; i < kTries && !stop.stop_requested(); ++i) {
    const auto found = cachedPages(fd, range);
    if (!found || *found >= pagesOf(range)) return true;
    usleep(kPauseUs);
  }
  return false;
}

}  // namespace

std::optional<std::uint64_t> cachedPages(int fd, ByteRange range) {
  const CachestatRange asked{.offset = static_cast<std::uint64_t>(range.begin),
                             .bytes = static_cast<std::uint64_t>(range.bytes())};
  Cachestat found{};
  if (syscall(kCachestat, fd, &asked, &found, 0) != 0) return {};
  return found.cached;
}

std::uint64_t pagesOf(ByteRange range) {
  static const long page = sysconf(_SC_PAGESIZE);
  return static_cast<std::uint64_t>((range.end + page - 1) / page - range.begin / page);
}

Storage::Storage(const std::string& path, std::uint64_t device) {
  struct statfs facts {};
  if (statfs(path.c_str(), &facts) != 0) return;
  const auto type = static_cast<long>(facts.f_type);
  const auto is_one_of = [type](const auto& types) {
    return std::ranges::find(types, type) != types.end();
  };
  is_coherent_ = is_one_of(kCoherent);
  if (is_one_of(kMemory)) leaveAlone(Reason::kMemory);
  std::ifstream in(fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", gnu_dev_major(device),
                               gnu_dev_minor(device)));
  std::int64_t kib = 0;
  if (in >> kib && kib > 0) window_bytes_ = kib << 10;
}

void Storage::leaveAlone(Reason reason) {
  reason_.store(reason);
  method_.store(Method::kNothing, std::memory_order_release);
}

std::string Storage::reason() const {
  switch (reason_.load()) {
    case Reason::kNone:
      break;
    case Reason::kMemory:
      return "its files are in memory";
    case Reason::kNoPages:
      return "it keeps no pages of what is read";
    case Reason::kOpensDrop:
      return "each open drops the pages of a file";
  }
  return {};
}

bool Storage::ask(int fd, ByteRange range, const std::stop_token& stop) const {
  for (; !range.isEmpty() && !stop.stop_requested(); range.begin += window_bytes_) {
    const auto piece = static_cast<std::size_t>(std::min(window_bytes_, range.bytes()));
    if (::readahead(fd, range.begin, piece) != 0) return false;
  }
  return range.isEmpty();
}

bool Storage::readThrough(int fd, ByteRange range, const std::stop_token& stop) {
  constexpr std::int64_t kPiece = 1 << 20;
  thread_local const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);
  while (!range.isEmpty() && !stop.stop_requested()) {
    const auto piece = static_cast<std::size_t>(std::min(range.bytes(), kPiece));
    const ssize_t got = pread(fd, buffer.get(), piece, range.begin);
    if (got <= 0) return got == 0;
    range.begin += got;
  }
  return range.isEmpty();
}

// Not with FOPEN_DIRECT_IO of FUSE, with which readahead fills the page cache all the same.
bool Storage::readsKeepPages(int fd, ByteRange range, const std::stop_token& stop) {
  range.end = std::min(range.end, range.begin + 1);
  if (!readThrough(fd, range, stop)) return false;
  const auto kept = cachedPages(fd, range);
  return !kept || *kept > 0;
}

bool Storage::tryOut(int fd, ByteRange range, const std::stop_token& stop) {
  Method found = Method::kReadahead;
  const bool keeps_pages = readsKeepPages(fd, range, stop);
  bool has_come = keeps_pages && ask(fd, range, stop) && comes(fd, range, stop);
  if (keeps_pages && !has_come) {
    found = Method::kRead;
    has_come = readThrough(fd, range, stop) && comes(fd, range, stop);
  }
  if (!has_come && stop.stop_requested()) {
    is_trying_.clear();
    return false;
  }
  if (!has_come) {
    leaveAlone(Reason::kNoPages);
    return false;
  }
  if (!is_coherent_) {
    // The application's own opens, and those here, must not take away what is there.
    {
      const base::Descriptor again(
          ::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    }
    const auto left = cachedPages(fd, range);
    if (left && *left < pagesOf(range)) {
      leaveAlone(Reason::kOpensDrop);
      return false;
    }
  }
  method_.store(found, std::memory_order_release);
  return true;
}

bool Storage::fetch(int fd, ByteRange range, const std::stop_token& stop) {
  switch (method()) {
    case Method::kNothing:
      return false;
    case Method::kRead:
      return readThrough(fd, range, stop);
    case Method::kReadahead:
      return ask(fd, range, stop);
    case Method::kUntried:
      break;
  }
  if (is_trying_.test_and_set()) return ask(fd, range, stop);
  return tryOut(fd, range, stop);
}

}  // namespace omnio::prefetch
