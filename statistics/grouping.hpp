// The groups that a report has: a line for each file, rank, thread or call.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/event/event.hpp"
#include "core/tracefile/trace.hpp"
#include "statistics/rank_events.hpp"
#include "statistics/report.hpp"

namespace omnio::stats {

// Finds the group of each event by a number: that of the file, of the call, or of the rank or
// thread that the event is of.
class Grouping {
 public:
  // The arguments outlive it. `depth`: as in Selection.
  Grouping(By by, const tracefile::Trace& trace, event::PathTable& paths, unsigned depth)
      : by_(by), trace_(trace), paths_(paths), depth_(depth) {}

  // Events of this rank follow, which has that place among those that are read. Without a single
  // event it has a group, too: that is a finding.
  void beginRank(std::optional<int> rank, std::size_t place,
                 const std::vector<RankEvents::Log>& logs);
  std::size_t placeOf(const event::Event& event, std::size_t log_number);
  // The pattern of this rank's requests in a file. Threads and calls have none.
  void addPattern(event::FileId file, const AccessPattern& pattern);
  Group& at(std::size_t place) { return groups_[place]; }

  std::size_t size() const { return groups_.size(); }
  void add(const Grouping& other);

  // Groups of files whose names lead to one file become one. `standing`: FileNames::standing() of
  // the paths.
  void joinFiles(const std::vector<event::FileId>& standing);

  // The groups with their names: files and calls by the time spent in them, ranks and threads by
  // number. Nothing is left in it.
  std::vector<Group> take();

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;
  static constexpr std::int64_t kNoRank = 1LL << 40;  // behind all ranks

  std::string threadName(const RankEvents::Log& log) const;
  std::string fileName(std::size_t place) const;
  std::size_t groupOf(Key key);
  std::size_t placeOfPath(event::FileId file);

  By by_;
  const tracefile::Trace& trace_;
  event::PathTable& paths_;
  unsigned depth_;
  std::vector<std::size_t> folders_;  // by number of the file: its place plus 1; 0: not known yet
  std::map<Key, std::size_t> index_;  // of ranks or threads, into groups_
  std::deque<Group> groups_;          // else of calls by number, or of files by number plus 1
  std::size_t rank_place_ = 0;
  std::uint32_t rank_number_ = 0;     // of the rank that is read, from 1
  std::vector<std::uint32_t> last_;   // of files: the rank that used it last, by place
  std::vector<std::size_t> of_logs_;  // of ranks or threads: the groups of the rank's logs
};

}  // namespace omnio::stats
