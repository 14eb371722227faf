// A model of the kernel's read-ahead: which bytes of a file are in the page cache before they are
// asked for.
//
// It follows ondemand_readahead() of Linux (mm/readahead.c, 4.x to 6.x) with the default window of
// 128 KiB: a first read at offset 0, or one next to the last, begins a window of two or four times
// its size; a read that comes to the marker in the window, or to its end, has the kernel read the
// next window, of two or four times the size, up to the largest; any other read that misses brings
// its own pages alone, unless a run of cached pages ends right before it. What is not modelled:
// memory never lacks, so pages stay; pages that are written stay too; posix_fadvise and O_DIRECT
// are not looked at; the end of the file is not known.
//
// Memory: at most kMostBytes. Of a file there are at most kMostRuns runs of pages, and those at the
// lowest offsets are dropped first; of files, those that were not used for longest. Pages that are
// dropped count as pages that the kernel has dropped: a read of them finds nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "predict/operations/operation.hpp"

namespace omnio::predict {

class ReadAhead {
 public:
  static constexpr std::int64_t kPageBytes = 4096;
  static constexpr std::int64_t kWindowPages = 32;  // read_ahead_kb of 128
  static constexpr std::size_t kMostRuns = 1024;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMostWindows = 256;  // of a file

  // How many of the bytes of a read were in the cache when it came; takes the read, or the write.
  std::int64_t take(const Operation& operation);

  // Pages that were read ahead, and those of them that a read asked for later.
  std::uint64_t fetchedPages() const { return fetched_; }
  std::uint64_t usedPages() const { return used_; }
  // An estimate: that of the heap's blocks for all nodes.
  std::size_t memoryBytes() const { return bytes_; }

 private:
  // Runs of pages that are cached, by their begin: they do not touch each other.
  class Pages {
   public:
    // Adds [begin, end) and returns how many of these were not there.
    std::int64_t add(std::int64_t begin, std::int64_t end);
    std::int64_t count(std::int64_t begin, std::int64_t end) const;
    bool has(std::int64_t page) const { return count(page, page + 1) == 1; }
    // How many pages in a row are there right before this one.
    std::int64_t before(std::int64_t page) const;
    // The first page from this one on that is not there.
    std::int64_t hole(std::int64_t page) const;
    void remove(std::int64_t begin, std::int64_t end);
    std::size_t runs() const { return runs_.size(); }

   private:
    std::map<std::int64_t, std::int64_t> runs_;
  };
  // That of an open file description.
  struct Window {
    std::int64_t start = 0;
    std::int64_t size = 0;
    std::int64_t async = 0;      // the marker is so far from the end of the window
    std::int64_t previous = -1;  // page of the last read
  };
  struct OfFile {
    event::FileId file = event::kNoFile;
    Pages cached;
    Pages ahead;                                             // read ahead, not asked for yet
    std::unordered_map<std::uint64_t, Window> windows = {};  // by session
    std::uint64_t used = 0;

    std::size_t memoryBytes() const;
  };

  void onDemand(OfFile& file, Window& window, std::int64_t page, std::int64_t wanted,
                bool at_marker);
  void fetch(OfFile& file, Window& window, std::int64_t page);
  void keepBound();

  std::unordered_map<Slot, OfFile> files_;
  std::uint64_t count_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t fetched_ = 0;
  std::uint64_t used_ = 0;
};

}  // namespace omnio::predict
