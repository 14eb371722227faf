// The files that the processes of a job on this node have open, whichever of them: what was fetched
// of each, whether more may be, and the helper's own descriptor of it.
//
// A file is opened here through /proc/PID/fd/N, so that it is the one that the process has, also
// where its name is gone; for the time of a request alone on local storage, where that costs
// microseconds. Elsewhere the descriptor is kept, and closed when the last of the job is, when
// nothing more is to be fetched, or after a second without use: a file that is open here cannot be
// unmounted, and its removal leaves a hidden name on NFS.
//
// Nothing is fetched of a file that the job writes, nor of one that is read past the page cache
// (O_DIRECT). Where the caches of nodes do not agree, every process has to have it open for reading
// alone, and it must not have changed since the job began.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/file.hpp"
#include "prefetch/fetched_ranges.hpp"
#include "prefetch/live_process.hpp"
#include "prefetch/page_fetcher.hpp"
#include "prefetch/storage.hpp"

namespace omnio::prefetch {

class JobFiles {
 public:
  // `begin_ns`: of the job, in ns since 1970. `ended` is told of each request that comes to its
  // end. Both fetcher and callback outlive it.
  JobFiles(PageFetcher& fetcher, std::int64_t begin_ns, std::int64_t budget_bytes,
           FetchedRanges::Ended ended)
      : fetcher_(fetcher), begin_ns_(begin_ns), budget_(budget_bytes), ended_(std::move(ended)) {}

  // An operation of a process. Of a read: how many of its bytes were fetched before.
  std::int64_t take(const LiveProcess& process, const LiveProcess::Seen& seen);
  // The process has ended, and its descriptors with it.
  void gone(const LiveProcess& process);

  struct Request {
    FileKey file;
    FetchedRanges::Range range;
    FetchedRanges::Owner owner;
    std::int64_t cause_ns = 0;
  };
  // Has the bytes fetched, as far as they were not before, with the next sendAll(). False where the
  // budget is used up.
  bool fetch(const LiveProcess& process, const Request& request);
  void sendAll();
  // What came of requests; `done` sees each.
  template <typename See>
  void takeDone(See see) {
    for (const PageFetcher::Done& done : fetcher_.takeDone()) {
      take(done);
      see(done);
    }
  }
  // Closes what was not used for a second.
  void closeUnused(std::int64_t now_ns);
  // Everything ends: what was fetched and not used is wasted.
  void finish();

  std::int64_t fetchedBytes() const { return sum(&FetchedRanges::fetchedBytes, ended_fetched_); }
  std::int64_t usedBytes() const { return sum(&FetchedRanges::usedBytes, ended_used_); }
  std::int64_t wastedBytes() const { return sum(&FetchedRanges::wastedBytes, ended_wasted_); }
  std::uint64_t writtenFiles() const { return written_; }
  std::uint64_t changedFiles() const { return changed_; }
  std::vector<std::string> leftAlone() const;

 private:
  struct File {
    std::uint64_t number = 0;
    // The descriptors that it is open by: process token and number, and how.
    struct Opener {
      std::uint32_t pid = 0;
      unsigned open_flags = 0;
    };
    std::map<std::pair<std::uint64_t, int>, Opener> openers;
    bool is_written = false;  // by the job, or may be
    bool has_changed = false;
    FetchedRanges ranges;
    std::shared_ptr<Storage> storage;
    std::shared_ptr<const base::Descriptor> descriptor;
    std::int64_t bytes = 0;  // when it was opened here
    std::int64_t used_ns = 0;
    std::vector<PageFetcher::Range> asked;  // to be sent together
    std::int64_t asked_cause_ns = 0;
    std::optional<std::int64_t> changed_ns;  // its change time when it was opened first
  };

  void take(const PageFetcher::Done& done);
  bool mayFetch(File& file);
  static bool hasLease(const File& file);
  bool open(const LiveProcess& process, const FileKey& key, File& file);
  void send(File& file);
  void cancel(File& file, std::int64_t offset);
  void closed(std::map<FileKey, File>::iterator place);
  std::int64_t sum(std::int64_t (FetchedRanges::*of)() const, std::int64_t ended) const;

  PageFetcher& fetcher_;
  std::int64_t begin_ns_;
  std::int64_t budget_;
  std::int64_t waiting_ = 0;  // bytes that were fetched and not used yet, of all files
  FetchedRanges::Ended ended_;
  std::map<FileKey, File> files_;
  std::map<std::uint64_t, FileKey> by_number_;
  std::vector<FileKey> asked_;  // files with something to be sent
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, std::pair<std::shared_ptr<Storage>, std::string>> storage_;  // by device
  // Of files that were closed.
  std::int64_t ended_fetched_ = 0;
  std::int64_t ended_used_ = 0;
  std::int64_t ended_wasted_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t changed_ = 0;
};

}  // namespace omnio::prefetch
