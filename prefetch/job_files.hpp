// The files that the processes of a job on this node have open, whichever of them: what was fetched
// of each, whether more may be, and the helper's own descriptor of it.
//
// A file is opened here by a descriptor that a process of the job has of it, for the time of a
// request alone on local storage, where that costs microseconds. Elsewhere the descriptor is kept,
// and closed when the last of the job is, when nothing more is to be fetched, or after a second
// without use: a file that is open here cannot be unmounted, and its removal leaves a hidden name
// on NFS. The kernel tells of closes on this node at once (inotify(7)); the rings tell of them
// later.
//
// Nothing is fetched of a file that the job writes, nor of one that is read past the page cache
// (O_DIRECT). Where the caches of nodes do not agree, every process has to have it open for reading
// alone, and it must not have changed since the job began.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/base/file.hpp"
#include "prefetch/fetched_ranges.hpp"
#include "prefetch/figures.hpp"
#include "prefetch/live_process.hpp"
#include "prefetch/page_fetcher.hpp"
#include "prefetch/storage.hpp"

namespace omnio::prefetch {

class JobFiles {
 public:
  // `notices`: a descriptor of inotify, whose events of watches that are not the caller's go to
  // wasClosed(). `begin_ns`: of the job, in ns since 1970. `figures` have the budget, and get what
  // comes of files that are closed. `ended` is told of each request that comes to its end. All
  // outlive it.
  JobFiles(PageFetcher& fetcher, int notices, std::int64_t begin_ns, Figures& figures,
           FetchedRanges::Ended ended)
      : fetcher_(fetcher),
        notices_(notices),
        begin_ns_(begin_ns),
        figures_(figures),
        ended_(std::move(ended)) {}

  // An operation of the process with that token. Of a read: how many of its bytes were fetched
  // before.
  std::int64_t take(std::uint64_t process, const LiveProcess::Seen& seen);
  // The process has ended, and its descriptors with it.
  void gone(std::uint64_t process);
  // A descriptor of a watched file was closed on this node.
  void wasClosed(int watch);

  struct Request {
    JobDescriptor opener;
    ByteRange range;
    FetchedRanges::Owner owner;
    std::int64_t cause_ns = 0;
  };
  // Has the bytes fetched, as far as they were not before, with the next sendAll(). False where the
  // budget is used up.
  bool fetch(const Request& request);
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

 private:
  struct File {
    std::uint64_t number = 0;
    // Descriptors of the job, and those of them that may write, or that go past the page cache.
    int openers = 0;
    int writers = 0;
    int direct = 0;
    bool is_written = false;  // by the job
    bool has_changed = false;
    FetchedRanges ranges;
    std::shared_ptr<Storage> storage;
    std::int64_t bytes = 0;  // when it was looked at last
    // Where the caches of nodes do not agree.
    std::shared_ptr<const base::Descriptor> descriptor;
    int watch = -1;  // while there is a descriptor
    std::int64_t used_ns = 0;
    std::optional<std::int64_t> changed_ns;  // its change time when it was opened first
    // To be sent together.
    std::vector<ByteRange> asked;
    JobDescriptor asked_opener;
    std::int64_t asked_cause_ns = 0;
    std::stop_source let_go;  // of what was sent
  };
  using Files = std::map<FileKey, File>;
  // A descriptor of the job: which file it is of, by number, and how that was opened.
  struct Held {
    std::uint64_t file = 0;
    JobDescriptor opener;
    unsigned open_flags = 0;
  };
  using HeldBy = std::map<std::pair<std::uint64_t, int>, Held>;  // by process and descriptor

  void take(const PageFetcher::Done& done);
  Files::iterator find(std::uint64_t number);
  File& hold(std::uint64_t process, const LiveProcess::Seen& seen);
  void leave(HeldBy::iterator held);
  static void count(File& file, unsigned open_flags, int by);
  static bool mayFetch(const File& file);
  bool reach(const JobDescriptor& opener, File& file);
  bool keepOpen(const JobDescriptor& opener, File& file);
  void letGo(File& file);
  void send(File& file);
  void cancel(File& file, ByteRange range);
  void closed(Files::iterator place);

  PageFetcher& fetcher_;
  int notices_;
  std::int64_t begin_ns_;
  Figures& figures_;
  std::int64_t waiting_ = 0;  // bytes that were fetched and not used yet, of all files
  FetchedRanges::Ended ended_;
  Files files_;
  std::map<std::uint64_t, FileKey> by_number_;
  HeldBy held_;
  std::map<int, FileKey> watched_;  // by watch
  std::vector<FileKey> asked_;      // files with something to be sent
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, std::pair<std::shared_ptr<Storage>, std::string>> storage_;  // by device
};

}  // namespace omnio::prefetch
