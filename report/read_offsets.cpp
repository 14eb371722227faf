#include "report/read_offsets.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/progress.hpp"
#include "core/event/deferred_reads.hpp"
#include "core/event/event.hpp"
#include "core/mpi/shared_offsets.hpp"
#include "statistics/rank_events.hpp"

namespace omnio::report {
namespace {

using Rank = std::vector<stats::Source>;

// The files that moved most bytes, the most first.
std::vector<const stats::Group*> filesWithMostBytes(const stats::Report& by_file) {
  const auto bytesOf = [](const stats::Group& group) {
    return group.read.size_bytes.total + group.write.size_bytes.total;
  };
  std::vector<const stats::Group*> files;
  for (const stats::Group& group : by_file.groups) {
    if (group.name != stats::kNoFileName && bytesOf(group) > 0) files.push_back(&group);
  }
  const std::size_t count = std::min(kMostOffsetCandidates, files.size());
  std::ranges::partial_sort(
      files, files.begin() + static_cast<std::ptrdiff_t>(count), {},
      [&](const stats::Group* file) { return std::tuple(~bytesOf(*file), file->name); });
  files.resize(count);
  return files;
}

// The places of the ranks that used any of the files, among `ranks`.
std::vector<std::size_t> usersOf(const std::vector<const stats::Group*>& files, std::size_t ranks) {
  std::vector<std::size_t> places;
  for (const stats::Group* file : files) {
    if (file->ranks > file->rank_places.size()) {  // too many to be known
      places.resize(ranks);
      std::iota(places.begin(), places.end(), std::size_t{0});
      return places;
    }
    places.insert(places.end(), file->rank_places.begin(), file->rank_places.end());
  }
  std::ranges::sort(places);
  const auto again = std::ranges::unique(places);
  places.erase(again.begin(), again.end());
  return places;
}

std::vector<const tracefile::Process*> processesOf(const Rank& rank) {
  std::vector<const tracefile::Process*> processes;
  for (const stats::Source& source : rank) processes.push_back(source.process);
  return processes;
}

User userOf(const tracefile::Trace& trace, const Rank& rank, std::size_t place, bool has_ranks) {
  if (!has_ranks) return kFirstUser + static_cast<User>(place);
  const std::optional<int> number = trace.rankOf(*rank.front().process);
  return number && *number >= 0 ? kFirstUser + static_cast<User>(*number) : kUnrankedUser;
}

// The offsets of one rank.
class OffsetReader {
 public:
  OffsetReader(OffsetCollector& collector, const Rank& rank, const stats::Selection& selection,
               std::int64_t start_ns, const mpi::MpiSharedOffsets& shared, User user)
      : start_ns_(start_ns),
        offsets_(collector, processesOf(rank), paths_, shared, user),
        selected_(selection, paths_, start_ns),
        events_(rank, selection, paths_),
        later_(rank.size()) {}

  void read() {
    while (const event::Event* const event = events_.next()) {
      const bool is_selected = selected_.has(*event);
      now_ns_ = sinceStart(event->end_ns);
      const OffsetFollower::Region& where = offsets_.take(*events_.log().source->process, *event);
      event::LaterReads& reads = later_[events_.log().source_number];
      if (event::LaterReads::begins(*event)) {
        // Kept first, since its end may have been seen.
        const bool is_kept = is_selected && where.file;
        const std::size_t begun = is_kept ? keep({sinceStart(event->start_ns), where}) : kNotKept;
        reads.begin(*event, begun, took_);
      } else {
        reads.end(*event, took_);
        if (is_selected) {
          offsets_.add(where, sinceStart(event->start_ns), now_ns_, event->bytes);
        }
      }
    }
    for (event::LaterReads& reads : later_) reads.finish(took_);
  }

 private:
  static constexpr std::size_t kNotKept = ~std::size_t{0};
  // A read whose bytes come later.
  struct Begun {
    std::int64_t start_ns = 0;
    OffsetFollower::Region where;
  };

  // Its place, that of one which is over where there is such a one.
  std::size_t keep(Begun begun) {
    if (free_.empty()) {
      begun_.push_back(std::move(begun));
      return begun_.size() - 1;
    }
    const std::size_t place = free_.back();
    free_.pop_back();
    begun_[place] = std::move(begun);
    return place;
  }

  std::int64_t sinceStart(std::int64_t ns) const { return ns > start_ns_ ? ns - start_ns_ : 0; }

  std::int64_t start_ns_;
  std::int64_t now_ns_ = 0;
  event::PathTable paths_;
  OffsetFollower offsets_;
  stats::SelectedEvents selected_;
  stats::RankEvents events_;
  std::vector<event::LaterReads> later_;  // by process
  std::vector<Begun> begun_;
  std::vector<std::size_t> free_;  // places of reads that are over
  const event::LaterReads::Take took_ = [this](std::size_t begun, std::uint64_t bytes) {
    if (begun == kNotKept) return;
    const auto [start_ns, where] = std::exchange(begun_[begun], {});
    free_.push_back(begun);
    offsets_.add(where, start_ns, std::max(start_ns, now_ns_), bytes);
  };
};

}  // namespace

FilesOffsets readOffsets(const tracefile::Trace& trace, const stats::Selection& selection,
                         const stats::Report& by_file) {
  FilesOffsets found;
  const auto processes = trace.processesOf(selection.rank, selection.thread);
  if (!processes) return found;
  const std::vector<Rank> ranks = stats::byRank(trace, *processes);
  found.has_ranks = std::ranges::any_of(ranks, [&](const Rank& rank) {
    return trace.rankOf(*rank.front().process).value_or(-1) >= 0;
  });
  const std::vector<const stats::Group*> files = filesWithMostBytes(by_file);
  if (files.empty()) return found;
  std::vector<std::string> names;
  for (const stats::Group* file : files) names.push_back(file->name);
  OffsetCollector collector(names);
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const std::string& name : files[i]->other_names) collector.addName(i, name);
  }
  std::vector<const tracefile::Process*> all;
  for (const auto& process : trace.processes()) all.push_back(process.get());
  const mpi::MpiSharedOffsets shared(all);
  const std::vector<std::size_t> users = usersOf(files, ranks.size());
  std::vector<const tracefile::Process*> read;
  for (const std::size_t place : users) {
    for (const stats::Source& source : ranks[place]) read.push_back(source.process);
  }
  const base::ProgressStage stage("reading offsets in files", "events",
                                  tracefile::storedEvents(read));
  const std::int64_t start_ns = stats::startOfRun(trace);
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < users.size(); ++i) {
    const Rank& rank = ranks[users[i]];
    OffsetReader(collector, rank, selection, start_ns, shared,
                 userOf(trace, rank, users[i], found.has_ranks))
        .read();
  }
  found.files = collector.take();
  return found;
}

}  // namespace omnio::report
