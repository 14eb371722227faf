#include "statistics/grouping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/printable.hpp"
#include "core/calls/table.hpp"
#include "core/wire/info.hpp"

namespace omnio::stats {
namespace {

event::FileId fileAt(std::size_t place) {
  return event::FileId(static_cast<std::uint32_t>(place - 1));
}
// The wrap of kNoFile to 0 is meant: what belongs to no file has the first place.
std::size_t placeOfFile(event::FileId file) { return static_cast<std::uint32_t>(file) + 1U; }

// The first folders of a path; all of a path that has no more.
std::string topOf(std::string_view path, unsigned depth) {
  std::size_t end = 0;
  for (unsigned i = 0; i < depth && end != std::string_view::npos; ++i) {
    end = path.find('/', end + 1);
  }
  return std::string(path.substr(0, end));
}

// A file may be used below the calls of the application alone.
bool isUsed(const Group& group) { return group.events() > 0 || !group.pattern.isEmpty(); }

}  // namespace

void Grouping::beginRank(std::optional<int> rank, std::size_t place,
                         const std::vector<RankEvents::Log>& logs) {
  rank_place_ = place;
  of_logs_.clear();
  ++rank_number_;
  if (by_ == By::kRank) of_logs_.assign(logs.size(), groupOf({rank.value_or(kNoRank), 0}));
  if (by_ != By::kThread) return;
  for (const RankEvents::Log& log : logs) {
    // Lanes of a thread are one group.
    of_logs_.push_back(groupOf({static_cast<std::int64_t>(log.source->number), log.log->thread}));
    groups_[of_logs_.back()].name = threadName(log);
  }
}

std::size_t Grouping::placeOf(const event::Event& event, std::size_t log_number) {
  if (!of_logs_.empty()) return of_logs_[log_number];
  const std::size_t place = by_ == By::kCall ? event.row->number : placeOfPath(event.file);
  if (place >= groups_.size()) groups_.resize(place + 1);
  if (by_ == By::kFile) {
    if (place >= last_.size()) last_.resize(groups_.size());
    if (last_[place] != rank_number_) {
      last_[place] = rank_number_;
      Group& file = groups_[place];
      ++file.ranks;
      if (file.rank_places.size() < Group::kMostPlaces) {
        file.rank_places.push_back(static_cast<std::uint32_t>(rank_place_));
      }
    }
  }
  return place;
}

std::size_t Grouping::placeOfPath(event::FileId file) {
  if (depth_ == 0 || file == event::kNoFile) return placeOfFile(file);
  const auto number = static_cast<std::size_t>(file);
  if (number >= folders_.size()) folders_.resize(std::max(number + 1, paths_.size()));
  if (folders_[number] == 0) {
    folders_[number] = placeOfFile(paths_.idOf(topOf(paths_.path(file), depth_))) + 1;
  }
  return folders_[number] - 1;
}

void Grouping::addPattern(event::FileId file, const AccessPattern& pattern) {
  if (by_ == By::kThread || by_ == By::kCall || (by_ == By::kRank && of_logs_.empty())) return;
  const std::size_t place = by_ == By::kRank ? of_logs_.front() : placeOfPath(file);
  if (place >= groups_.size()) groups_.resize(place + 1);
  groups_[place].pattern.add(pattern);
}

void Grouping::add(const Grouping& other) {
  for (const auto& [key, index] : other.index_) {
    Group& group = groups_[groupOf(key)];
    group.add(other.groups_[index]);
    group.name = other.groups_[index].name;
  }
  if (by_ == By::kRank || by_ == By::kThread) return;
  for (std::size_t place = 0; place < other.groups_.size(); ++place) {
    if (!isUsed(other.groups_[place])) continue;
    const bool is_path = by_ == By::kFile && place > 0;
    const std::size_t own =
        is_path ? placeOfFile(paths_.idOf(other.paths_.path(fileAt(place)))) : place;
    if (own >= groups_.size()) groups_.resize(own + 1);
    groups_[own].add(other.groups_[place]);
  }
}

void Grouping::joinFiles(const std::vector<event::FileId>& standing) {
  if (by_ != By::kFile || depth_ != 0) return;
  // Of each file the names that were used, the one that stands for all first.
  std::map<std::size_t, std::vector<std::size_t>> places;
  for (std::size_t place = 1; place < groups_.size() && place <= standing.size(); ++place) {
    const std::size_t first = placeOfFile(standing[place - 1]);
    if (first != place && isUsed(groups_[place])) places[first].push_back(place);
  }
  for (auto& [first, others] : places) {
    if (first < groups_.size() && isUsed(groups_[first])) others.insert(others.begin(), first);
    Group& file = groups_[others.front()];
    for (std::size_t i = 1; i < others.size(); ++i) {
      groups_[others[i]].name = fileName(others[i]);
      file.join(std::exchange(groups_[others[i]], {}));
    }
    std::ranges::sort(file.other_names);
  }
}

std::vector<Group> Grouping::take() {
  std::vector<Group> taken;
  for (const auto& [key, index] : index_) {
    if (by_ == By::kRank) {
      groups_[index].name = key.first == kNoRank ? "none" : fmt::format("{}", key.first);
    }
    taken.push_back(std::move(groups_[index]));
  }
  if (by_ == By::kRank || by_ == By::kThread) return taken;
  for (std::size_t place = 0; place < groups_.size(); ++place) {
    Group& group = groups_[place];
    if (group.events() == 0) continue;  // used below the calls of the application alone
    if (by_ == By::kCall) group.row = &calls::kTable[place];
    group.name = by_ == By::kCall ? std::string(group.row->name) : fileName(place);
    taken.push_back(std::move(group));
  }
  std::ranges::stable_sort(taken, {}, [](const Group& group) {
    return std::tuple(~group.time_ns.total, ~group.mpi_sync_ns.total, std::string_view(group.name));
  });
  return taken;
}

std::string Grouping::threadName(const RankEvents::Log& log) const {
  const tracefile::Process& process = *log.source->process;
  const auto rank = trace_.rankOf(process);
  const std::string omp = log.log->omp_thread_plus_1 == 0
                              ? std::string()
                              : fmt::format(", OpenMP thread {}", log.log->omp_thread_plus_1 - 1);
  const std::string where = base::printable(process.info.text(wire::info::kHost));
  return fmt::format("rank {} thread {} (host {}, pid {}, tid {}{})",
                     rank ? fmt::format("{}", *rank) : "none", log.log->thread,
                     where.empty() ? "unknown" : where, process.pid, log.log->tid, omp);
}

std::string Grouping::fileName(std::size_t place) const {
  return place == 0 ? std::string(kNoFileName) : base::printable(paths_.path(fileAt(place)));
}

std::size_t Grouping::groupOf(Key key) {
  const auto [place, is_new] = index_.try_emplace(key, groups_.size());
  if (is_new) groups_.emplace_back();
  return place->second;
}

}  // namespace omnio::stats
