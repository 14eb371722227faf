#include "core/tracefile/collect.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/tracefile/container_file.hpp"
#include "core/tracefile/log_parts.hpp"
#include "core/tracefile/process.hpp"
#include "core/tracefile/ring_file.hpp"
#include "core/tracefile/trace.hpp"
#include "core/wire/info.hpp"
#include "core/wire/run.hpp"

namespace omnio::tracefile {
namespace {

namespace fs = std::filesystem;

// Held on one ring of a process while its rings are collected. Rings are node-local, so a lock on
// one excludes whoever could collect it, even where the trace directory's file system has no locks.
class RingLock {
 public:
  explicit RingLock(const fs::path& ring)
      : file_(::open(ring.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
    // A note in place of a ring is a link, which cannot be locked. What it says is said once all
    // the same: whoever is second finds the container there.
    if (!file_) {
      held_ = errno == ELOOP;
      return;
    }
    struct stat status {};
    const Locked locked = lockWithin(file_.get());
    busy_ = locked == Locked::kBusy;
    held_ = locked == Locked::kYes && fstat(file_.get(), &status) == 0 &&
            status.st_nlink > 0;  // else another collector was done with it first
  }
  bool held() const { return held_; }
  bool busy() const { return busy_; }

 private:
  const base::Descriptor file_;
  bool held_ = false;
  bool busy_ = false;
};

// The last value of each fact in the rings that the container does not hold, as the payload of an
// info chunk; empty when it holds all. A ring may have several values of a fact: appending each
// chunk of facts that differs from the container would append the older ones again at each try.
std::string newFacts(const ProcessInfo& info, const std::vector<RingContent>& rings) {
  ProcessInfo in_rings;
  for (const RingContent& ring : rings) {
    for (const std::string_view facts : ring.facts) in_rings.take(facts);
  }
  std::string payload;
  for (const auto& [key, value] : in_rings.all()) {
    if (info.text(key) == value) continue;
    payload += key;
    payload += '\0';
    payload += value;
    payload += '\0';
  }
  return payload;
}

// Collects the rings of one dead process.
class ProcessCollector {
 public:
  ProcessCollector(fs::path directory, std::optional<fs::path> container, CollectReport& report)
      : directory_(std::move(directory)), container_(std::move(container)), report_(report) {}

  void collect(const std::vector<fs::path>& rings) {
    const RingLock lock(rings.front());
    if (lock.busy()) report_.troubles.push_back(busyFailure(rings.front()).sentence);
    if (!lock.held()) return;
    for (const fs::path& path : rings) {
      auto ring = readRing(path);
      if (ring && !ring->alive) rings_.push_back(std::move(*ring));
    }
    if (rings_.empty()) return;
    ++report_.processes;
    if (!bringIn()) return;
    // The locked one last: as long as it is there, another collector waits.
    for (auto ring = rings_.rbegin(); ring != rings_.rend(); ++ring) {
      std::error_code error;
      if (fs::remove(ring->path, error)) ++report_.rings;
    }
  }

 private:
  bool bringIn() {
    // Without a process, nothing of the container is known.
    const auto trouble = [&](std::string_view why, const Process* process) {
      std::uint64_t waiting = 0;
      for (const RingContent& ring : rings_) {
        for (const StoredChunk& chunk : ring.chunks) {
          waiting += chunk.header.event_count - (process ? heldOf(*process, chunk) : 0);
        }
      }
      const std::string trace = base::printable(directory_.native());
      report_.troubles.push_back(fmt::format(
          "{}; {} event{} of process {} stay{} in {}: free space and run `omnio collect {}`, or "
          "give them up with `omnio collect {} --discard`",
          why, waiting, waiting == 1 ? "" : "s", rings_.front().pid, waiting == 1 ? "s" : "",
          base::printable(rings_.front().path.parent_path().native()), trace, trace));
      return false;
    };
    base::Result<ContainerAppender> file =
        container_ ? ContainerAppender::open(*container_) : createContainer();
    if (!file) return trouble(file.failure().sentence, nullptr);
    base::Result<Process> process = openContainer(*container_);
    if (!process) return trouble(process.failure().sentence, nullptr);
    const auto failed = [&](int error) {
      return trouble(base::systemFailure(*container_, error).sentence, &*process);
    };
    if (const std::string facts = newFacts(process->info, rings_); !facts.empty()) {
      wire::ChunkHeader header{.kind = wire::ChunkKind::kInfo, .token = rings_.front().token};
      if (const int error = file->append(header, facts); error != 0) return failed(error);
    }
    for (const RingContent& ring : rings_) {
      for (const StoredChunk& chunk : ring.chunks) {
        if (const int error = bringChunk(*file, *process, ring, chunk); error != 0) {
          return failed(error);
        }
      }
    }
    if (const int error = file->writeAccount(accountOf(*process, file->end())); error != 0) {
      return failed(error);
    }
    return true;
  }

  // How many of a chunk's events the container has. Killed between writing a chunk and beginning
  // anew, it stands in both places; in the container perhaps twice, when an earlier collector found
  // only a part of it there.
  static std::uint32_t heldOf(const Process& process, const StoredChunk& chunk) {
    std::uint32_t most = 0;
    for (const StoredChunk& other : process.chunks) {
      if (other.isSame(chunk)) most = std::max(most, other.header.event_count);
    }
    return std::min(most, chunk.header.event_count);
  }

  int bringChunk(ContainerAppender& file, Process& process, const RingContent& ring,
                 const StoredChunk& chunk) {
    const std::uint32_t held = heldOf(process, chunk);
    if (held == chunk.header.event_count) return 0;
    const std::string_view payload(ring.data.data() + chunk.payload_offset,
                                   chunk.header.payload_bytes);
    const int error = file.append(chunk.header, payload);
    if (error != 0) return error;
    report_.events += chunk.header.event_count - held;
    process.chunks.push_back(chunk);
    return 0;
  }

  wire::Account accountOf(const Process& process, std::uint64_t end) const {
    wire::Account account = process.account.value_or(wire::Account{});
    for (const RingContent& ring : rings_) {
      if (ring.note) account = *ring.note;  // newer than the container's
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> best;
    for (const StoredChunk& chunk : process.chunks) {
      std::uint32_t& events = best[{chunk.header.log, chunk.header.sequence}];
      events = std::max(events, chunk.header.event_count);
    }
    std::uint64_t written = 0;
    for (const auto& [place, events] : best) written += events;
    if (account.state == wire::AccountState::kRunning) {
      account.state = wire::AccountState::kCollected;
      // Rings are of this node, so its clocks are those of the process.
      account.end = wire::takeAnchor(process.clock_kind);
    } else {
      // It knew the total: what was lost then and has come now is lost no more.
      const std::uint64_t total = account.events_written + account.events_lost;
      account.events_lost = total > written ? total - written : 0;
    }
    account.events_written = written;
    account.file_bytes = end;
    return account;
  }

  // For a process that could create no container when it ran. What only the process knew (when it
  // began) is taken from its first chunk.
  base::Result<ContainerAppender> createContainer() {
    wire::ContainerHeader header;
    header.token = rings_.front().token;
    header.pid = rings_.front().pid;
    for (const RingContent& ring : rings_) {
      for (const StoredChunk& chunk : ring.chunks) {
        const wire::ChunkHeader& c = chunk.header;
        if (header.begin.monotonic_ns == 0 || c.base_monotonic_ns < header.begin.monotonic_ns) {
          header.begin.ticks = c.base_ticks;
          header.begin.monotonic_ns = c.base_monotonic_ns;
        }
        if (c.base_ticks != c.base_monotonic_ns) header.clock = wire::detectClock();
      }
    }
    const wire::Anchor now = wire::takeAnchor(header.clock);
    header.begin.realtime_ns = header.begin.monotonic_ns + (now.realtime_ns - now.monotonic_ns);
    wire::stamp(header);
    container_ = directory_ / fmt::format("{}.{}.collected-{:016x}{}", thisHost(), header.pid,
                                          header.token, wire::kContainerSuffix);
    std::error_code error;
    // Another collector was here, and the rings were left.
    if (fs::exists(*container_, error)) return ContainerAppender::open(*container_);
    return ContainerAppender::create(*container_, header);
  }

  fs::path directory_;
  std::optional<fs::path> container_;
  CollectReport& report_;
  std::vector<RingContent> rings_;
};

// Whether the file has the name of a ring but no valid header, and no process has it open: its
// process ended while it made the ring, or an earlier version of the tracer made it.
bool isUnfinished(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == geteuid() && hasWriter(path) == false;
}

// omnio-<token>-<number>, as rings were named before runs had an identity.
bool isOldName(std::string_view name) {
  constexpr std::size_t kTokenDigits = 16;
  std::uint64_t token = 0;
  name.remove_prefix(std::string_view(wire::kRingPrefix).size());
  const std::size_t before = name.size();
  return wire::takeHexNumber(name, kTokenDigits, token) && before - name.size() == kTokenDigits &&
         name.size() > 1 && name.front() == '-' &&
         name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

// Whether the run's `omnio trace` may still be there. The pids of another container mean nothing
// here, so a run whose processes have other pids counts as supervised for as long as the node runs.
bool isSupervised(const wire::Supervisor& supervisor, std::uint64_t pid_namespace) {
  static const std::uint64_t boot = bootNumber(thisBoot());
  return supervisor.pid != 0 && supervisor.boot == boot &&
         isAlive(supervisor.pid, supervisor.start, pid_namespace).value_or(true);
}

// The rings of one trace in the ring directories.
struct RingSurvey {
  std::map<std::uint64_t, std::vector<fs::path>> dead;  // by token
  std::set<std::uint64_t> running;
  std::vector<fs::path> unfinished;
  std::uint64_t of_others = 0;
};

template <typename IsKnown>
RingSurvey surveyRings(const std::vector<fs::path>& directories, const TraceIdentity& identity,
                       IsKnown is_known) {
  RingSurvey survey;
  for (const fs::path& path : ringFiles(directories)) {
    const auto name = ringNameOf(path.filename().native());
    if (!name || !identity.isCandidate(*name) || partFileOf(path)) continue;
    const auto ring = readRing(path);
    if (!ring) {
      if (isUnfinished(path)) survey.unfinished.push_back(path);
      continue;
    }
    switch (identity.fit(*ring, is_known(ring->token))) {
      case TraceIdentity::Fit::kOtherRun:
        break;
      case TraceIdentity::Fit::kOtherOwner:
        ++survey.of_others;
        break;
      case TraceIdentity::Fit::kOurs:
        if (ring->alive) {
          survey.running.insert(ring->token);
        } else {
          survey.dead[ring->token].push_back(path);
        }
        break;
    }
  }
  return survey;
}

}  // namespace

DeadRings deadRingsOf(const TraceIdentity& trace) {
  RingSurvey survey =
      surveyRings(ringDirectories(), trace, [](std::uint64_t /*token*/) { return false; });
  DeadRings dead{.rings = std::move(survey.unfinished), .of_others = survey.of_others};
  for (auto& [token, rings] : survey.dead) {
    dead.rings.insert(dead.rings.end(), rings.begin(), rings.end());
  }
  return dead;
}

Orphans findOrphans() {
  Orphans orphans;
  std::vector<RingContent> dead;
  std::set<std::string> live_runs;
  for (const fs::path& path : ringFiles(ringDirectories())) {
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0) continue;
    const std::string file_name = path.filename().native();
    const auto name = ringNameOf(file_name);
    if ((!name && !isOldName(file_name)) || partFileOf(path)) continue;
    if (status.st_uid != geteuid()) {
      ++orphans.of_others;
      continue;
    }
    auto ring = readRing(path);
    if (!ring) {
      if (isUnfinished(path)) orphans.unfinished.push_back(path);
      continue;
    }
    if (ring->alive || isSupervised(ring->supervisor, ring->pid_namespace)) {
      live_runs.insert(runIdText(ring->run));
      ++orphans.running;
    } else {
      ring->data = {};  // what it holds is collected from the file
      dead.push_back(std::move(*ring));
    }
  }
  std::map<std::pair<std::string, std::string>, std::pair<Orphans::Group, std::set<std::uint64_t>>>
      groups;
  for (const RingContent& ring : dead) {
    const std::string run = runIdText(ring.run);
    if (live_runs.contains(run)) {
      ++orphans.running;
      continue;
    }
    auto& [group, tokens] = groups[{run, ring.trace_directory}];
    struct stat there {};
    group.directory = ring.trace_directory;
    // One that cannot be looked at may be there all the same.
    const bool is_seen = stat(ring.trace_directory.c_str(), &there) == 0;
    group.is_there =
        is_seen && there.st_dev == ring.directory_device && there.st_ino == ring.directory_inode;
    group.is_gone = is_seen ? !group.is_there : errno == ENOENT || errno == ENOTDIR;
    group.processes += tokens.insert(ring.token).second ? 1 : 0;
    for (const StoredChunk& chunk : ring.chunks) group.events += chunk.header.event_count;
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(ring.path, error);
    if (!error) group.bytes += bytes;
    group.rings.push_back(ring.path);
  }
  for (auto& entry : groups) orphans.groups.push_back(std::move(entry.second.first));
  return orphans;
}

namespace {

// The containers of a trace, by token, and where their processes had rings.
struct Containers {
  std::map<std::uint64_t, fs::path> by_token;
  std::vector<std::string> places;
};

base::Result<Containers> surveyContainers(const fs::path& trace) {
  Containers found;
  const base::Result<std::vector<fs::path>> containers = containersIn(trace);
  if (!containers) return containers.failure();
  for (const fs::path& path : *containers) {
    const base::Result<ContainerFile> start = openContainerFile(path);
    if (!start) continue;
    found.by_token[start->header.token] = path;
    ProcessInfo info;
    readFirstFacts(start->file, start->header.token, info);
    const std::string& place = info.text(wire::info::kRingPlace);
    auto& places = found.places;
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  }
  return found;
}

// Takes the parts of logs whose `omnio trace` has gone. Returns how many.
std::size_t takeParts(const fs::path& trace, const std::vector<PartFile>& files,
                      const Containers& containers, CollectReport& report) {
  std::map<std::uint64_t, std::string> names;
  for (const auto& [token, path] : containers.by_token) names[token] = path.filename().native();
  LogParts parts(
      trace,
      [](const wire::LogPartHeader& part) {
        return !isSupervised(part.supervisor, part.pid_namespace);
      },
      [](const wire::LogPartHeader& /*part*/, uid_t /*user*/) {}, names);
  const std::size_t taken = parts.take(files, true);
  LogParts::removeUnfinished(files);
  for (std::string& trouble : parts.takeTroubles()) report.troubles.push_back(std::move(trouble));
  return taken;
}

}  // namespace

CollectReport collectRings(const fs::path& trace) {
  CollectReport report;
  base::Result<Containers> containers = surveyContainers(trace);
  TraceIdentity identity = TraceIdentity::of(trace);
  if (containers) {
    const auto files = partFiles(ringDirectories(containers->places), identity);
    if (!files.empty() && takeParts(trace, files, *containers, report) > 0) {
      containers = surveyContainers(trace);
    }
  }
  if (!containers) {
    report.troubles.push_back(containers.failure().sentence);
    return report;
  }
  const std::map<std::uint64_t, fs::path>& by_token = containers->by_token;

  std::error_code error;
  const fs::path real = fs::canonical(trace, error);
  const std::vector<fs::path> directories = ringDirectories(containers->places);
  const auto is_known = [&by_token](std::uint64_t token) { return by_token.contains(token); };
  RingSurvey survey = surveyRings(directories, identity, is_known);
  if (survey.of_others > 0) {
    // A process may have become another user, and says so in its log.
    for (const auto& [token, path] : by_token) {
      if (const base::Result<Process> process = openContainer(path))
        admitOwners(identity, *process);
    }
    survey = surveyRings(directories, identity, is_known);
  }
  report.of_others = survey.of_others;
  // A part names the place of its bytes in the log. To append rings to the log before all its parts
  // are there could put events into that place.
  for (const PartFile& part : partFiles(directories, identity)) {
    survey.running.insert(part.owner.token);
  }
  for (const fs::path& path : survey.unfinished) report.rings += fs::remove(path, error) ? 1 : 0;
  const auto& [dead, running] = std::tie(survey.dead, survey.running);
  report.running = running.size();
  base::ProgressStage stage("collecting", "processes", dead.size());
  std::uint64_t done = 0;
  for (const auto& [token, rings] : dead) {
    stage.reach(done++, dead.size());
    if (running.contains(token)) continue;
    const auto container = by_token.find(token);
    ProcessCollector collector(
        real, container == by_token.end() ? std::nullopt : std::optional(container->second),
        report);
    collector.collect(rings);
  }
  return report;
}

}  // namespace omnio::tracefile
