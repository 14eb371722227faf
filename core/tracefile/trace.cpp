#include "core/tracefile/trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/base/printable.hpp"
#include "core/tracefile/process.hpp"
#include "core/wire/info.hpp"

namespace omnio::tracefile {
namespace {

namespace fs = std::filesystem;

// A process that could create no container says nowhere what it counted in: its chunks do.
void guessClock(Process& process) {
  for (const StoredChunk& chunk : process.chunks) {
    if (chunk.header.base_ticks != chunk.header.base_monotonic_ns) {
      process.clock_kind = wire::detectClock();
      return;
    }
  }
}

auto orderOf(const Process& process) {
  constexpr int kLast = std::numeric_limits<int>::max();
  return std::make_tuple(process.info.rank().value_or(kLast), process.begin.realtime_ns,
                         process.pid, process.token);
}

// Whether `omnio trace` has told of a command there.
bool hasLaunch(const fs::path& directory) {
  return std::ranges::any_of(entriesOf(directory), [](const fs::directory_entry& entry) {
    return entry.path().filename().native().starts_with("launch-");
  });
}

}  // namespace

std::uint64_t storedEvents(const std::vector<const Process*>& processes) {
  std::uint64_t events = 0;
  for (const Process* process : processes) {
    for (const StoredChunk& chunk : process->chunks) events += chunk.header.event_count;
  }
  return events;
}

std::uint64_t Trace::storedEvents() const {
  std::vector<const Process*> all;
  for (const auto& process : processes_) all.push_back(process.get());
  return tracefile::storedEvents(all);
}

base::Result<std::vector<fs::path>> containersIn(const fs::path& directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (!fs::exists(status)) {
    return base::systemFailure(directory, error ? error.value() : ENOENT);
  }
  if (!fs::is_directory(status)) {
    return base::fileFailure(directory, base::Code::kNotOurs,
                             "not a directory; a trace is a directory that `omnio trace -o` made");
  }
  std::vector<fs::path> containers;
  for (const fs::directory_entry& entry : entriesOf(directory, error)) {
    if (entry.path().extension() == wire::kContainerSuffix) containers.push_back(entry.path());
  }
  if (error) return base::systemFailure(directory, error.value());
  std::sort(containers.begin(), containers.end());
  return containers;
}

void admitOwners(TraceIdentity& identity, const Process& process) {
  struct stat status {};
  if (lstat(process.container.c_str(), &status) != 0 || !identity.isOwner(status.st_uid)) return;
  const std::string_view prefix = wire::info::kOwnerPrefix;
  for (auto fact = process.info.all().lower_bound(prefix);
       fact != process.info.all().end() && fact->first.starts_with(prefix); ++fact) {
    identity.admitOwner(
        static_cast<uid_t>(std::strtoul(fact->first.c_str() + prefix.size(), nullptr, 10)));
  }
}

base::Result<Trace> Trace::open(const fs::path& directory) {
  base::Result<std::vector<fs::path>> containers = containersIn(directory);
  if (!containers) return containers.failure();
  Trace trace;
  trace.directory_ = directory;
  // Rings before containers: what a running process moves meanwhile is seen twice, not never.
  TraceIdentity identity = TraceIdentity::of(directory);
  std::vector<RingContent> rings;
  std::set<fs::path> seen;
  std::size_t of_others = 0;
  const auto readRingsIn = [&](const std::vector<fs::path>& directories) {
    for (const fs::path& path : ringFiles(directories)) {
      const auto name = ringNameOf(path.filename().native());
      if (!name || !identity.isCandidate(*name) || !seen.insert(path).second) continue;
      auto ring = readRing(path);
      if (!ring) continue;
      // A process that became another user may say so in its container, which is read later. But
      // whoever puts files there by the thousand is not to fill this program's memory.
      constexpr std::size_t kMostOfOthers = 256;
      if (!identity.isOwner(ring->uid) && ++of_others > kMostOfOthers) continue;
      rings.push_back(std::move(*ring));
    }
  };
  readRingsIn(ringDirectories());
  for (const fs::path& path : *containers) {
    base::Result<Process> process = openContainer(path);
    if (process) {
      trace.processes_.push_back(std::make_unique<Process>(std::move(*process)));
    } else {
      trace.unreadable_.push_back(process.failure());
    }
  }
  // The processes tell where else rings may be.
  std::set<std::string> places;
  for (const auto& process : trace.processes_) {
    places.insert(process->info.text(wire::info::kRingPlace));
    admitOwners(identity, *process);
  }
  readRingsIn(ringDirectories({places.begin(), places.end()}));
  trace.takeRings(std::move(rings), identity);
  trace.untraced_ = readUntraced(directory);
  trace.ended_ = readEnded(directory, trace.processes_);
  if (trace.processes_.empty()) {
    if (!trace.untraced_.empty() || std::ranges::any_of(trace.ended_, &EndedProcess::isMissed))
      return trace;
    const auto unwritten =
        std::ranges::find(trace.unreadable_, base::Code::kUnwritten, &base::Failure::code);
    if (unwritten != trace.unreadable_.end()) return trace;
    if (!trace.unreadable_.empty()) return trace.unreadable_.front();
    // A command was traced into it, and did nothing that is recorded.
    if (hasLaunch(directory)) {
      return base::fileFailure(
          directory, base::Code::kEmpty,
          "holds no event: what ran there did no I/O on files that are recorded");
    }
    return base::fileFailure(
        directory, base::Code::kNotOurs,
        fmt::format("holds no trace (no file *{} in it)", wire::kContainerSuffix));
  }
  const ThisNode node;
  for (auto& process : trace.processes_) settle(*process, node);
  for (const auto& process : trace.processes_) {
    trace.has_ranks_ = trace.has_ranks_ || process->info.rank().has_value();
  }
  std::ranges::sort(trace.processes_, {}, [](const auto& process) { return orderOf(*process); });
  trace.clocks_ = assignClocks(trace.processes_, node.boot);
  return trace;
}

void Trace::correctClocks(const KnownClocks& known) {
  clocks_ = assignClocks(processes_, thisBoot(), known);
}

void Trace::takeRings(std::vector<RingContent> rings, const TraceIdentity& identity) {
  std::map<std::uint64_t, Process*> by_token;
  for (const auto& process : processes_) by_token[process->token] = process.get();
  for (RingContent& ring : rings) {
    const auto owner = by_token.find(ring.token);
    if (identity.fit(ring, owner != by_token.end()) != TraceIdentity::Fit::kOurs) continue;
    if (owner != by_token.end()) {
      addRing(*owner->second, std::move(ring));
      continue;
    }
    auto process = std::make_unique<Process>();
    process->token = ring.token;
    process->pid = ring.pid;
    by_token[process->token] = process.get();
    addRing(*process, std::move(ring));
    processes_.push_back(std::move(process));
  }
  for (const auto& process : processes_) {
    if (process->container.empty()) guessClock(*process);
  }
}

std::optional<int> Trace::rankOf(const Process& process) const {
  const auto own = process.info.rank();
  return own || has_ranks_ ? own : std::optional<int>(0);
}

base::Result<std::vector<const Process*>> Trace::processesOf(std::optional<int> rank,
                                                             std::optional<unsigned> thread) const {
  std::vector<const Process*> chosen;
  std::set<int> ranks;
  for (const auto& process : processes_) {
    const auto own = rankOf(*process);
    if (own) ranks.insert(*own);
    if (!rank || own == rank) chosen.push_back(process.get());
  }
  if (rank && chosen.empty()) {
    return base::fileFailure(
        directory_, base::Code::kInvalid,
        fmt::format("no rank {} in this trace; it has {} {}", *rank,
                    ranks.size() > 1 ? "ranks"
                    : ranks.empty()  ? "no"
                                     : "rank",
                    ranks.empty() ? "rank" : fmt::format("{}", fmt::join(ranks, ", "))));
  }
  const bool has_thread = !thread || std::ranges::any_of(chosen, [&](const Process* process) {
    return std::ranges::any_of(process->logs,
                               [&](const Log& log) { return log.thread == *thread; });
  });
  if (!has_thread) {
    return base::fileFailure(directory_, base::Code::kInvalid,
                             fmt::format("no thread {} in what was chosen", *thread));
  }
  return chosen;
}

}  // namespace omnio::tracefile
