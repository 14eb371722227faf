// What a file's storage does with pages that are fetched: found out once for each device that holds
// a file, by fetching what is wanted first and looking whether it came.
//
// - Where the caches of nodes agree with each other (local disks, Lustre, GPFS, whose servers take
//   pages back), any file may be fetched that the job does not write. Elsewhere (NFS, FUSE, and
//   what is not known) pages stay after another node has changed the file.
// - readahead(2) fetches no more at once than the device's window: 128 KiB, where it does not say.
//   Where nothing comes of it (Lustre's documentation says that of its own read-ahead, which is not
//   tried here), pages are read and thrown away.
// - Of storage that keeps no pages, or whose opens drop them (FUSE without FOPEN_KEEP_CACHE),
//   nothing is fetched.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

namespace omnio::prefetch {

// Bytes of a file.
struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;  // one past the last
  std::int64_t bytes() const { return end - begin; }
  bool isEmpty() const { return end <= begin; }
};

// How many of its pages are in the page cache. Nothing where the kernel does not tell: before Linux
// 6.5, or of another's file.
std::optional<std::uint64_t> cachedPages(int fd, ByteRange range);

// How many pages these bytes lie in.
std::uint64_t pagesOf(ByteRange range);

class Storage {
 public:
  enum class Method : std::uint8_t {
    kUntried,
    kReadahead,
    kRead,
    kNothing,  // it is left alone
  };

  // The storage of the file system that the file of that name is on; `device` as stat has it.
  Storage(const std::string& path, std::uint64_t device);

  bool isCoherent() const { return is_coherent_; }
  Method method() const { return method_.load(std::memory_order_acquire); }
  // In words, for the summary: why it is left alone; empty where it is not.
  std::string reason() const;

  // Fetches the bytes of an open file; from any thread. False where nothing is to be had here, and
  // where it was stopped: the file is wanted no more.
  bool fetch(int fd, ByteRange range, const std::stop_token& stop);

 private:
  enum class Reason : std::uint8_t { kNone, kMemory, kNoPages, kOpensDrop };

  bool ask(int fd, ByteRange range, const std::stop_token& stop) const;
  static bool readThrough(int fd, ByteRange range, const std::stop_token& stop);
  static bool readsKeepPages(int fd, ByteRange range, const std::stop_token& stop);
  bool tryOut(int fd, ByteRange range, const std::stop_token& stop);
  void leaveAlone(Reason reason);

  bool is_coherent_ = false;
  std::int64_t window_bytes_ = 128 << 10;
  std::atomic<Method> method_{Method::kUntried};
  std::atomic<Reason> reason_{Reason::kNone};
  std::atomic_flag is_trying_{};
};

}  // namespace omnio::prefetch
