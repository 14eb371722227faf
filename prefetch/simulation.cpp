#include "prefetch/simulation.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/event/event.hpp"
#include "core/wire/info.hpp"
#include "predict/operations/earlier_run.hpp"
#include "predict/operations/operation_reader.hpp"
#include "prefetch/fetched_ranges.hpp"
#include "prefetch/figures.hpp"
#include "prefetch/planner.hpp"

namespace omnio::prefetch {
namespace {

using predict::Kind;
using predict::Operation;
using predict::Processes;
using Owner = FetchedRanges::Owner;
using Times = std::array<double, kClocks>;  // ns after the first operation of the trace

// Indices of ranks that are simulated together.
std::vector<std::vector<std::size_t>> groupsOf(const std::vector<Processes>& ranks) {
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::string_view, std::size_t> of_host;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::string& host = ranks[i].front()->info.text(wire::info::kHost);
    std::size_t& group = of_host.try_emplace(host, groups.size()).first->second;
    if (group < groups.size() && groups[group].size() == kMostTogether) group = groups.size();
    if (group == groups.size()) groups.emplace_back();
    groups[group].push_back(i);
  }
  return groups;
}

// Where a thread, or a process, is in time after an operation.
struct Place {
  std::int64_t end_ns = 0;  // as recorded
  Times plain{};
  Times prefetched{};
};

// The operations of a rank, each with the place before it.
class RankRun {
 public:
  explicit RankRun(const Processes& rank)
      : reader_(rank, {}, paths_), by_log_(reader_.logs()), by_process_(rank.size()) {}

  // Pages of mappings that were touched have no time of their own.
  const Operation* next() {
    do {
      head_ = reader_.next();
    } while (head_ != nullptr && head_->is_mapped);
    return head_;
  }
  const Operation* head() const { return head_; }
  const predict::OperationReader& reader() const { return reader_; }
  std::size_t process() const { return reader_.processOf(reader_.log()); }
  std::uint32_t thread() const { return reader_.threadOf(reader_.log()); }
  // Before the first operation.
  void goOnWith(std::size_t process, const predict::FileSlots::Kept& slots) {
    reader_.goOnWith(process, slots);
  }
  std::string_view path(event::FileId file) const { return paths_.path(file); }

  // Nothing before the first operation of a process. A thread that begins goes on where its process
  // is.
  const std::optional<Place>& before() {
    std::optional<Place>& place = by_log_[reader_.log()];
    if (!place) place = by_process_[process()];
    return place;
  }
  // Below 0 where a thread begins while another one of its process is in an operation.
  double gap() { return before() ? static_cast<double>(head_->start_ns - before()->end_ns) : 0; }
  void set(const Place& place) {
    by_log_[reader_.log()] = place;
    std::optional<Place>& last = by_process_[process()];
    if (!last || last->end_ns <= place.end_ns) last = place;
  }

 private:
  event::PathTable paths_;
  predict::OperationReader reader_;
  const Operation* head_ = nullptr;
  std::vector<std::optional<Place>> by_log_;
  std::vector<std::optional<Place>> by_process_;
};

double durationOf(const Operation& operation) {
  return static_cast<double>(std::max<std::int64_t>(operation.end_ns - operation.start_ns, 0));
}

// What the first pass over the trace finds out.
class Survey {
 public:
  void take(const Processes& rank) {
    RankRun run(rank);
    std::unordered_map<std::uint64_t, std::int64_t> ends;  // of reads, by log and slot
    while (const Operation* const operation = run.next()) {
      first_ns = std::min(first_ns, operation->start_ns);
      computing_ns_ += std::max(run.gap(), 0.0);
      run.set({.end_ns = operation->end_ns});
      if (operation->kind != Kind::kRead) continue;
      ++reads;
      reading_ns_ += durationOf(*operation);
      if (!operation->has_offset || operation->bytes <= 0) continue;
      std::int64_t& end = ends[std::uint64_t{run.reader().log()} << 32 | operation->slot];
      Class& of = classes_[sizeClassOf(operation->bytes)];
      if (operation->offset != end) of.add({durationOf(*operation), 1});
      end = operation->offset + operation->bytes;
    }
    undecodable = run.reader().undecodable();
  }
  void add(const Survey& other) {
    first_ns = std::min(first_ns, other.first_ns);
    reads += other.reads;
    undecodable += other.undecodable;
    computing_ns_ += other.computing_ns_;
    reading_ns_ += other.reading_ns_;
    for (std::size_t i = 0; i < kSizeClasses; ++i) classes_[i].add(other.classes_[i]);
  }

  // How many times as long computing takes, clock by clock.
  Times factors() const {
    Times factors{1};
    for (std::size_t i = 0; i < kRatios.size(); ++i) {
      factors[i + 1] = computing_ns_ > 0 ? kRatios[i] * reading_ns_ / computing_ns_ : 1;
    }
    return factors;
  }
  // How long a request takes: by reads of the nearest size, where there are none of its own.
  double requestNs(std::int64_t bytes) const {
    const std::size_t own = sizeClassOf(bytes);
    for (std::size_t distance = 0; distance < kSizeClasses; ++distance) {
      for (const std::size_t i : {own + distance, own - distance}) {
        if (i < kSizeClasses && classes_[i].count > 0)
          return classes_[i].sum_ns / classes_[i].count;
      }
    }
    return 0;
  }

  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::uint64_t reads = 0;
  std::uint64_t undecodable = 0;

 private:
  struct Class {
    double sum_ns = 0;
    double count = 0;
    void add(const Class& other) {
      sum_ns += other.sum_ns;
      count += other.count;
    }
  };

  std::array<Class, kSizeClasses> classes_{};
  double computing_ns_ = 0;
  double reading_ns_ = 0;
};

// As in prefetch/job_files.hpp.
struct File {
  // Requests that were used last: other ranks may read the same, and find it there.
  static constexpr std::size_t kMostUsed = 256;

  FetchedRanges ranges;
  std::deque<std::pair<ByteRange, Owner>> used;
  std::int64_t opens = 0;
  bool is_left_alone = false;

  // The requests that have bytes of the range. False where some bytes were not asked for.
  template <typename See>
  bool eachRequest(ByteRange range, See see) {
    if (range.isEmpty()) return false;
    if (ranges.missing(range).isEmpty()) {
      ranges.eachOver(range, [&](ByteRange request, const Owner& owner) {
        see(request, owner);
        used.emplace_back(request, owner);
        if (used.size() > kMostUsed) used.pop_front();
      });
      return true;
    }
    const auto has_all = [range](const auto& one) {
      return one.first.begin <= range.begin && range.end <= one.first.end;
    };
    const auto found = std::ranges::find_if(used, has_all);
    if (found != used.end()) see(found->first, found->second);
    return found != used.end();
  }
};

// Ranks of one node.
class NodeRun {
 public:
  NodeRun(const std::vector<Processes>& ranks, const std::vector<std::size_t>& group,
          const Survey& survey, std::int64_t delay_ns)
      : survey_(survey), factors_(survey.factors()), delay_ns_(static_cast<double>(delay_ns)) {
    for (const std::size_t i : group) {
      ranks_.push_back(std::make_unique<Rank>(ranks[i], ranks_.size()));
    }
  }

  void goOnWith(std::size_t index, predict::RankModels& earlier) {
    Rank& rank = *ranks_[index];
    const std::size_t count = std::min(rank.planners.size(), earlier.processes.size());
    for (std::size_t i = 0; i < count; ++i) {
      predict::RankModels::Process& process = earlier.processes[i];
      rank.run.goOnWith(i, process.slots);
      rank.planners[i].goOnWith(std::move(process.models), std::move(process.threads));
    }
  }

  void simulate() {
    for (const auto& rank : ranks_) rank->run.next();
    const auto start_of = [](const auto& rank) {
      const Operation* const head = rank->run.head();
      return head == nullptr ? std::numeric_limits<std::int64_t>::max() : head->start_ns;
    };
    while (true) {
      Rank& rank = **std::ranges::min_element(ranks_, {}, start_of);
      if (rank.run.head() == nullptr) break;
      take(rank);
      rank.run.next();
    }
    for (auto& [path, file] : files_) file.ranges.finish(ended_);
  }
  const Gain& gainOf(std::size_t index) const { return ranks_[index]->gain; }

 private:
  struct Rank {
    Rank(const Processes& rank, std::size_t number)
        : run(rank), planners(rank.size()), number(number) {}
    RankRun run;
    std::vector<Planner> planners;  // by process
    std::uint64_t number;
    Gain gain;
  };

  void take(Rank& rank);
  Times durations(Rank& rank, File& file, const Times& begin_ns);
  void request(Rank& rank, const Times& end_ns);

  const Survey& survey_;
  Times factors_;
  double delay_ns_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::unordered_map<std::string_view, File> files_;  // by path
  FetchedRanges::Ended ended_ = [this](const Owner& owner, bool was_used) {
    ranks_[owner.process >> 32]->planners[static_cast<std::uint32_t>(owner.process)].ended(
        owner.stream, was_used);
  };
};

void NodeRun::take(Rank& rank) {
  const Operation& operation = *rank.run.head();
  const double gap_ns = rank.run.gap();
  Place place;
  if (rank.run.before()) {
    place = *rank.run.before();
  } else {
    place.plain.fill(static_cast<double>(operation.start_ns - survey_.first_ns));
    place.prefetched = place.plain;
  }
  for (std::size_t i = 0; i < kClocks; ++i) {
    const double scaled_ns = gap_ns > 0 ? factors_[i] * gap_ns : gap_ns;
    rank.gain.clocks[i].computing_ns += std::max(scaled_ns, 0.0);
    place.plain[i] += scaled_ns;
    place.prefetched[i] += scaled_ns;
  }
  const std::string_view path = rank.run.path(operation.file);
  File& file = files_[path];
  const double recorded_ns = durationOf(operation);
  const Times took_ns = durations(rank, file, place.prefetched);
  for (std::size_t i = 0; i < kClocks; ++i) {
    Gain::Clock& clock = rank.gain.clocks[i];
    place.plain[i] += recorded_ns;
    place.prefetched[i] += took_ns[i];
    clock.hidden_ns += recorded_ns - took_ns[i];
    clock.run_ns = std::max(clock.run_ns, place.plain[i]);
    clock.prefetched_run_ns = std::max(clock.prefetched_run_ns, place.prefetched[i]);
  }
  place.end_ns = operation.end_ns;
  rank.run.set(place);
  ++rank.gain.operations;
  if (operation.is_direct || operation.kind == Kind::kWrite) file.is_left_alone = true;
  if (operation.kind == Kind::kOpen) ++file.opens;
  if (operation.kind == Kind::kClose && --file.opens <= 0) {
    file.ranges.finish(ended_);
    files_.erase(path);
  }
  Planner& planner = rank.planners[rank.run.process()];
  planner.take(rank.run.thread(), operation);
  if (!planner.needsNoPlan()) request(rank, place.prefetched);
}

// How long the operation takes, clock by clock.
Times NodeRun::durations(Rank& rank, File& file, const Times& begin_ns) {
  const Operation& operation = *rank.run.head();
  const double recorded_ns = durationOf(operation);
  Times took_ns;
  took_ns.fill(recorded_ns);
  if (operation.kind != Kind::kRead) return took_ns;
  ++rank.gain.reads;
  rank.gain.read_ns += recorded_ns;
  rank.gain.read_bytes += operation.bytes;
  if (!operation.has_offset) return took_ns;
  Times made_ns;
  made_ns.fill(-std::numeric_limits<double>::infinity());
  Times there_ns = made_ns;
  const ByteRange range{.begin = operation.offset, .end = operation.offset + operation.bytes};
  const bool is_asked = file.eachRequest(range, [&](ByteRange request, const Owner& owner) {
    const double request_ns = survey_.requestNs(request.bytes());
    for (std::size_t i = 0; i < kClocks; ++i) {
      made_ns[i] = std::max(made_ns[i], (*owner.made_ns)[i]);
      there_ns[i] = std::max(there_ns[i], (*owner.made_ns)[i] + request_ns);
    }
  });
  const double copy_ns = kCopyNs + static_cast<double>(range.bytes()) / kCopyBytesPerNs;
  for (std::size_t i = 0; i < kClocks && is_asked; ++i) {
    // A request that comes after the read has begun is of no use.
    if (made_ns[i] >= begin_ns[i]) continue;
    took_ns[i] = std::min(recorded_ns, std::max(there_ns[i] - begin_ns[i], 0.0) + copy_ns);
  }
  const std::int64_t used_before = file.ranges.usedBytes();
  file.ranges.read(range, ended_);
  rank.gain.used_bytes += file.ranges.usedBytes() - used_before;
  return took_ns;
}

void NodeRun::request(Rank& rank, const Times& end_ns) {
  const std::size_t process = rank.run.process();
  auto made_ns = std::make_shared<std::vector<double>>(end_ns.begin(), end_ns.end());
  for (double& time_ns : *made_ns) time_ns += delay_ns_;
  for (const Wanted& wanted : rank.planners[process].plan(rank.run.thread())) {
    const auto found = files_.find(rank.run.path(wanted.file));
    if (found == files_.end() || found->second.is_left_alone) continue;
    File& file = found->second;
    const ByteRange all{.begin = wanted.offset, .end = wanted.offset + wanted.bytes};
    const ByteRange range = file.ranges.missing(all);
    if (range.isEmpty() || file.eachRequest(range, [](ByteRange, const Owner&) {})) continue;
    file.ranges.add(
        range,
        {.process = rank.number << 32 | process, .stream = wanted.stream, .made_ns = made_ns});
    ++rank.gain.requests;
    rank.gain.fetched_bytes += range.bytes();
  }
}

}  // namespace

void Gain::add(const Gain& other) {
  operations += other.operations;
  reads += other.reads;
  read_bytes += other.read_bytes;
  read_ns += other.read_ns;
  requests += other.requests;
  fetched_bytes += other.fetched_bytes;
  used_bytes += other.used_bytes;
  for (std::size_t i = 0; i < kClocks; ++i) {
    Clock& clock = clocks[i];
    const Clock& one = other.clocks[i];
    clock.computing_ns += one.computing_ns;
    clock.hidden_ns += one.hidden_ns;
    clock.run_ns = std::max(clock.run_ns, one.run_ns);
    clock.prefetched_run_ns = std::max(clock.prefetched_run_ns, one.prefetched_run_ns);
  }
}

base::Result<Simulation> simulate(const tracefile::Trace& trace, std::optional<int> rank,
                                  std::int64_t delay_ns, const predict::EarlierRun* earlier) {
  const auto processes = trace.processesOf(rank);
  if (!processes) return processes.failure();
  if (const auto same = predict::checkApplication(trace, earlier); !same) return same.failure();
  Simulation simulation{.trace = trace.directory().native(),
                        .wholeness = tracefile::assess(trace),
                        .delay_ns = delay_ns,
                        .ranks = {},
                        .total = {}};
  std::vector<Processes> ranks;
  std::vector<predict::RankKey> keys;
  for (auto& [key, one] : predict::byRank(trace, *processes)) {
    keys.push_back(key);
    ranks.push_back(std::move(one));
  }
  const base::ProgressStage stage("simulating", "events", 2 * tracefile::storedEvents(*processes));
  Survey survey;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    Survey one;
    one.take(ranks[i]);
#pragma omp critical(omnio_prefetch_simulation)
    survey.add(one);
  }
  tracefile::addUndecodable(simulation.wholeness, survey.undecodable);
  if (survey.reads == 0) {
    return base::failure(base::Code::kEmpty,
                         "{}: no call reads a regular file: there is nothing to prefetch",
                         base::printable(simulation.trace));
  }
  std::optional<base::Failure> unread;
  std::vector<Gain> gains(ranks.size());
  const std::vector<std::vector<std::size_t>> groups = groupsOf(ranks);
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < groups.size(); ++i) {
    NodeRun run(ranks, groups[i], survey, delay_ns);
    for (std::size_t k = 0; k < groups[i].size(); ++k) {
      const auto learnt = predict::modelsFor(earlier, keys[groups[i][k]]);
      if (learnt && *learnt) run.goOnWith(k, **learnt);
#pragma omp critical(omnio_prefetch_simulation)
      if (!learnt) unread = learnt.failure();
    }
    run.simulate();
    for (std::size_t k = 0; k < groups[i].size(); ++k) gains[groups[i][k]] = run.gainOf(k);
  }
  if (unread) return *unread;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (gains[i].operations == 0) continue;
    const std::optional<int> number = trace.rankOf(*ranks[i].front());
    simulation.total.add(gains[i]);
    simulation.ranks.push_back({.name = number ? std::to_string(*number) : ranks[i].front()->name(),
                                .rank = number,
                                .gain = gains[i]});
  }
  return simulation;
}

}  // namespace omnio::prefetch
