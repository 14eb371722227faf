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
bool comes(int fd, std::int64_t offset, std::int64_t bytes) {
  constexpr int kTries = 1000;
  constexpr useconds_t kPauseUs = 1000;
  for (int i = 0; i < kTries; ++i) {
    const auto found = cachedPages(fd, offset, bytes);
    if (!found || found->cached >= pagesOf(offset, bytes)) return true;
    usleep(kPauseUs);
  }
  return false;
}

}  // namespace

std::optional<CachedPages> cachedPages(int fd, std::int64_t offset, std::int64_t bytes) {
  const CachestatRange range{.offset = static_cast<std::uint64_t>(offset),
                             .bytes = static_cast<std::uint64_t>(bytes)};
  Cachestat found{};
  if (syscall(kCachestat, fd, &range, &found, 0) != 0) return {};
  return CachedPages{.cached = found.cached, .recently_evicted = found.recently_evicted};
}

std::uint64_t pagesOf(std::int64_t offset, std::int64_t bytes) {
  static const long page = sysconf(_SC_PAGESIZE);
  return static_cast<std::uint64_t>((offset + bytes + page - 1) / page - offset / page);
}

Storage::Storage(int fd, std::uint64_t device) {
  struct statfs facts {};
  if (fstatfs(fd, &facts) != 0) return;
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

bool Storage::ask(int fd, std::int64_t offset, std::int64_t bytes) const {
  for (std::int64_t done = 0; done < bytes; done += window_bytes_) {
    const auto piece = static_cast<std::size_t>(std::min(window_bytes_, bytes - done));
    if (::readahead(fd, offset + done, piece) != 0) return false;
  }
  return true;
}

bool Storage::readThrough(int fd, std::int64_t offset, std::int64_t bytes) {
  constexpr std::int64_t kPiece = 1 << 20;
  thread_local const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);
  while (bytes > 0) {
    const auto piece = static_cast<std::size_t>(std::min(bytes, kPiece));
    const ssize_t got = pread(fd, buffer.get(), piece, offset);
    if (got <= 0) return got == 0;
    offset += got;
    bytes -= got;
  }
  return true;
}

bool Storage::tryOut(int fd, std::int64_t offset, std::int64_t bytes) {
  const bool is_asked = ask(fd, offset, bytes);
  Method found = Method::kReadahead;
  if (!is_asked || !comes(fd, offset, bytes)) {
    found = Method::kRead;
    if (!readThrough(fd, offset, bytes) || !comes(fd, offset, bytes)) {
      leaveAlone(Reason::kNoPages);
      return false;
    }
  }
  if (!is_coherent_) {
    // The application's own opens, and those here, must not take away what is there.
    {
      const base::Descriptor again(
          ::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    }
    const auto left = cachedPages(fd, offset, bytes);
    if (left && left->cached < pagesOf(offset, bytes)) {
      leaveAlone(Reason::kOpensDrop);
      return false;
    }
  }
  method_.store(found, std::memory_order_release);
  return true;
}

bool Storage::fetch(int fd, std::int64_t offset, std::int64_t bytes) {
  switch (method()) {
    case Method::kNothing:
      return false;
    case Method::kRead:
      return readThrough(fd, offset, bytes);
    case Method::kReadahead:
      return ask(fd, offset, bytes);
    case Method::kUntried:
      break;
  }
  if (is_trying_.test_and_set()) return ask(fd, offset, bytes);
  return tryOut(fd, offset, bytes);
}

}  // namespace omnio::prefetch
