#include "replay/dry_run.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/base/json_writer.hpp"
#include "core/base/node_memory.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/model/schedule_keys.hpp"
#include "replay/plan/descriptor_use.hpp"
#include "replay/plan/lanes.hpp"
#include "replay/target/prepare.hpp"
#include "replay/target/sources.hpp"
#include "replay/target/targets.hpp"
#include "replay/target/tree.hpp"

namespace omnio::replay {
namespace {

namespace fs = std::filesystem;

// The directory, or the nearest one above it.
fs::path nearestThere(fs::path directory) {
  std::error_code error;
  while (!fs::exists(directory, error) && directory.has_relative_path()) {
    directory = directory.parent_path();
  }
  return directory;
}

// Errno, or 0.
int errorOfWriting(const fs::path& directory) {
  return access(nearestThere(directory).c_str(), W_OK | X_OK) == 0 ? 0 : errno;
}

base::Result<void> checkWritable(const Request& request) {
  const fs::path programs = programsIn(request.output);
  if (const int error = errorOfWriting(request.output)) {
    return base::systemFailure(programs, error, "cannot create");
  }
  for (const Target& target : request.targets) {
    if (const int error = errorOfWriting(target.directory)) {
      base::Failure failure = base::systemFailure(target.directory, error, "cannot create");
      failure.sentence += remedyFor(error);
      return failure;
    }
  }
  return {};
}

// A refusal by the first rank.
base::Failure ofRank(const base::Failure& failure) {
  return {failure.code, "rank 0: " + failure.sentence};
}

// `tree`: of a target, by number, or kNodeTree.
DryRun::Room roomIn(const Request& request, const Plan& plan, std::uint32_t tree) {
  const bool on_node = tree == kNodeTree;
  DryRun::Room room{.directory = on_node ? request.node_local : request.targets[tree].directory,
                    .target = on_node ? "" : request.targets[tree].name,
                    .on_node = on_node,
                    .needed = {},
                    .free = {}};
  room.needed = roomNeeded(plan, [&](std::size_t file) { return plan.files[file].tree == tree; });
  room.free = freeBytes(room.directory);
  if (request.fresh) {
    for (const fs::path& removed : removedIn(room.directory)) room.removed += bytesBelow(removed);
  }
  return room;
}

// The directory of a node, as the first rank looks at it.
base::Result<void> checkNode(const Request& request, const Plan& plan) {
  if (const auto free = checkTarget(request.node_local, request.fresh); !free) {
    return ofRank(free.failure());
  }
  if (request.ignores_room) return {};
  std::vector<fs::path> removed;
  if (request.fresh) {
    removed = targetTreesBeside(request.targets, request.node_local);
    std::ranges::copy(removedIn(request.node_local), std::back_inserter(removed));
  }
  const auto is_on_node = [&](std::size_t file) { return plan.files[file].tree == kNodeTree; };
  const auto fits =
      checkRoom(roomNeededOnNode(request.targets, request.node_local, plan, is_on_node),
                request.node_local, removed);
  if (!fits) return ofRank(fits.failure());
  return {};
}

}  // namespace

std::uint64_t DryRun::preparedBytes() const {
  std::uint64_t bytes = 0;
  for (const Room& room : rooms) bytes += room.needed.prepared;
  return bytes;
}

std::int64_t DryRun::expectedNs() const {
  const std::int64_t recorded = overview.recordedNs();
  if (overview.plan.global.timing != model::Timing::kAsap) return recorded;
  return std::max<std::int64_t>(recorded - overview.longest_work_ns, 0);
}

base::Result<DryRun> dryRun(const Request& request, Launch launch) {
  if (const auto fit = checkDirectories(request); !fit) return fit.failure();
  base::Result<Overview> overview = readOverview(request.schedule, request.changes);
  if (!overview) return overview.failure();
  overview->plan.schedule = request.schedule.native();
  const Plan& plan = overview->plan;
  if (launch.processes == 0) launch.processes = std::max(1, static_cast<int>(plan.ranks.size()));
  const auto there = checkSources(plan, request.targets, request.node_local);
  if (!there) return there.failure();
  if (const auto fits = checkTargetRoom(request, plan); !fits) return fits.failure();
  if (const auto enough = checkProcesses(plan, launch.processes); !enough) return enough.failure();
  if (const auto fit = checkDescriptors(request, plan, launch.processes); !fit) {
    return fit.failure();
  }
  if (const auto writable = checkWritable(request); !writable) return writable.failure();

  if (const auto fit = checkNamesForMpi(request, plan); !fit) return fit.failure();
  DryRun dry{.request = request,
             .launch = launch,
             .overview = {},
             .placement = placementOf(plan, launch.processes, request.place)};
  for (std::uint32_t tree = 0; tree < request.targets.size(); ++tree) {
    dry.rooms.push_back(roomIn(request, plan, tree));
  }
  if (usesNodeTree(request.node_local, plan)) {
    dry.rooms.push_back(roomIn(request, plan, kNodeTree));
    if (launch.one_node) {
      if (const auto fits = checkNode(request, plan); !fits) return fits.failure();
    }
  }
  for (const PlannedFile& file : plan.files) {
    if (wantedSize(plan, file)) ++dry.prepared_files;
  }
  const MemoryNeeded memory =
      memoryNeeded(plan, dry.placement, request.content, [](int) { return true; });
  dry.memory_bytes = memory.bytes;
  dry.memory_available = base::availableMemoryBytes();
  if (launch.one_node) {
    const auto fits = checkMemory(memory, dry.memory_available);
    if (!fits) return ofRank(fits.failure());
  }
  dry.overview = *std::move(overview);
  return dry;
}

namespace {

using base::counted;

std::string inBytes(std::uint64_t bytes) { return base::humanBytes(static_cast<double>(bytes)); }
std::string inTime(std::int64_t ns) { return base::humanNs(static_cast<double>(ns)); }

// What one process has to do.
struct Work {
  std::vector<std::uint32_t> ranks;
  std::vector<const PlannedThread*> threads;
  std::size_t at_once = 0;  // threads
};

std::vector<Work> workByProcess(const DryRun& dry) {
  std::vector<Work> all;
  for (auto& ranks : dry.placement.ranksByProcess()) {
    all.push_back({.ranks = std::move(ranks), .threads = {}});
  }
  for (auto& [process, threads] : threadsByProcess(dry.overview.plan, dry.placement)) {
    Work& work = all[static_cast<std::size_t>(process)];
    work.at_once = lanesOf(threads).largest.size();
    work.threads = std::move(threads);
  }
  return all;
}

// "0-2": the threads of a rank.
std::string threadsText(const Work& work, std::uint32_t rank) {
  std::vector<std::uint32_t> numbers;
  for (const PlannedThread* thread : work.threads) {
    if (static_cast<std::uint32_t>(thread->recorded.rank) != rank) continue;
    numbers.push_back(static_cast<std::uint32_t>(thread->recorded.thread));
  }
  std::ranges::sort(numbers);
  return rangesText(numbers);
}

// Which of the schedule's waits are kept.
std::string orderText(const DryRun& dry) {
  std::string text = waitsText(dry.overview);
  if (dry.overview.waiting_events == 0) return text;
  text.pop_back();
  switch (dry.request.changes.order) {
    case model::Order::kNone:
      return text + "; none of these is kept\n";
    case model::Order::kFile:
      return text + "; those for files and names are kept\n";
    case model::Order::kMpi:
      return text + "; those for messages, threads and processes are kept\n";
    case model::Order::kAll:
      break;
  }
  return text + "; all are kept\n";
}

std::string roomText(const DryRun::Room& room) {
  std::string text = fmt::format(
      "Room in {}{}: at least {} ({} for files that are prepared, {} at the end); ",
      base::printable(room.directory.native()),
      room.target.empty() ? "" : fmt::format(" ({})", room.target), inBytes(room.needed.bytes()),
      inBytes(room.needed.prepared), inBytes(room.needed.at_end));
  text += room.free ? fmt::format("{} free here", inBytes(*room.free))
                    : std::string("the file system does not tell what is free");
  if (room.removed > 0) {
    text += fmt::format(", and {} of an earlier replay are removed", inBytes(room.removed));
  }
  return text + '\n';
}

std::string durationText(const DryRun& dry) {
  const Overview& overview = dry.overview;
  std::string text = fmt::format("Duration: {} with the I/O as fast as in the recording",
                                 inTime(dry.expectedNs()));
  if (overview.plan.global.timing == model::Timing::kAsap) {
    return text + fmt::format(", which took {} with think time\n", inTime(overview.recordedNs()));
  }
  text += fmt::format("; {} without I/O", inTime(overview.longest_work_ns));
  if (const auto& worker = overview.longest_worker) {
    text += fmt::format(", which rank {}, thread {} needs by itself", worker->rank, worker->thread);
  }
  return text + '\n';
}

}  // namespace

std::string textOf(const DryRun& dry) {
  constexpr std::size_t kProcessesShown = 16;
  const Request& request = dry.request;
  const Traffic& total = dry.overview.total;
  std::vector<std::string> targets;
  for (const Target& target : request.targets) {
    targets.push_back(base::printable(target.directory.native()));
  }
  std::string text =
      fmt::format("A replay of {} in {} would do this; nothing was done\n",
                  base::printable(request.schedule.native()), fmt::join(targets, " and "));
  text += fmt::format(
      "Timing {}, order {}, cache {}, data {}, {}\n",
      base::wordOf(model::kTimings, dry.overview.plan.global.timing),
      base::wordOf(model::kOrders, request.changes.order), base::wordOf(kCaches, request.cache),
      request.content.word(),
      counted(static_cast<std::uint64_t>(dry.launch.processes), "process", "processes"));
  text += orderText(dry);
  text += fmt::format("Prepares {}, {}\n", counted(dry.prepared_files, "file", "files"),
                      inBytes(dry.preparedBytes()));
  text += fmt::format("Issues {}: reads {} in {}, writes {} in {}\n",
                      counted(total.operations, "call", "calls"), inBytes(total.read_bytes),
                      counted(total.reads, "call", "calls"), inBytes(total.written_bytes),
                      counted(total.writes, "call", "calls"));
  for (const DryRun::Room& room : dry.rooms) text += roomText(room);
  text += fmt::format("Memory for requests: {}{}\n", inBytes(dry.memory_bytes),
                      dry.launch.one_node ? "" : ", over all nodes");
  if (dry.memory_available != UINT64_MAX) {
    text.pop_back();
    text += fmt::format("; {} available on this node\n", inBytes(dry.memory_available));
  }
  text += durationText(dry);
  if (const std::string sentence = unalignedSentence(dry.overview.plan); !sentence.empty()) {
    text += fmt::format("Direct I/O: {}\n", sentence);
  }
  if (request.trace) {
    text += fmt::format("Trace: {}\n", base::printable(request.output.native()));
  }
  std::vector<std::vector<std::string>> rows = {{"process", "threads", "at once", "ranks"}};
  const std::vector<Work> all = workByProcess(dry);
  for (std::size_t i = 0; i < std::min(all.size(), kProcessesShown); ++i) {
    rows.push_back({fmt::format("{}", i), fmt::format("{}", all[i].threads.size()),
                    fmt::format("{}", all[i].at_once),
                    all[i].ranks.empty() ? "(none)" : rangesText(all[i].ranks)});
  }
  text += '\n';
  base::appendTable(text, rows, base::Align::kRight);
  if (all.size() > kProcessesShown) {
    text += fmt::format("... and {} more processes\n", all.size() - kProcessesShown);
  }
  return text;
}

std::string jsonOf(const DryRun& dry) {
  constexpr base::JsonLayout kLayout{.indent = 2};
  const Request& request = dry.request;
  const Overview& overview = dry.overview;
  return base::jsonDocument("omnio-replay-dry-run", 1, kLayout, [&](base::JsonWriter& json) {
    json.put("schedule", base::printable(request.schedule.native()));
    json.list("targets", request.targets, [&](const Target& target) {
      json.object([&] {
        if (!target.name.empty()) json.put("name", target.name);
        json.put("directory", base::printable(target.directory.native()));
      });
    });
    json.put("output", base::printable(request.output.native()));
    json.put("traced", request.trace);
    json.put("time_replay", base::wordOf(model::kTimings, overview.plan.global.timing));
    json.put("order", base::wordOf(model::kOrders, request.changes.order));
    json.put("waiting_events", overview.waiting_events);
    json.put("cache", base::wordOf(kCaches, request.cache));
    json.put("data", request.content.word());
    json.put("place", base::wordOf(kPlaces, request.place));
    json.list("processes", workByProcess(dry), [&](const Work& work) {
      json.object([&] {
        json.put("threads", work.threads.size());
        json.put("threads_at_once", work.at_once);
        json.list("ranks", work.ranks, [&](std::uint32_t rank) {
          json.object([&] {
            json.put("rank", rank);
            json.put("threads", threadsText(work, rank));
          });
        });
      });
    });
    json.object("preparation", [&] {
      json.put("files", dry.prepared_files);
      json.put("bytes", dry.preparedBytes());
    });
    json.put("operations", overview.total.operations);
    json.put("bytes_read", overview.total.read_bytes);
    json.put("bytes_written", overview.total.written_bytes);
    json.list("rooms", dry.rooms, [&](const DryRun::Room& room) {
      json.object([&] {
        json.put("directory", base::printable(room.directory.native()));
        json.put("target", room.target);
        json.put("on_node", room.on_node);
        json.put("needed_bytes", room.needed.bytes());
        json.put("prepared_bytes", room.needed.prepared);
        json.put("at_end_bytes", room.needed.at_end);
        json.put("free_bytes", room.free);
        json.put("removed_bytes", room.removed);
      });
    });
    json.object("memory", [&] {
      json.put("one_node", dry.launch.one_node);
      json.put("needed_bytes", dry.memory_bytes);
      json.put("available_bytes", dry.memory_available == UINT64_MAX
                                      ? std::nullopt
                                      : std::optional(dry.memory_available));
    });
    json.put("unaligned_direct_requests", overview.plan.unaligned.requests);
    json.object("duration", [&] {
      json.put("recorded_ns", overview.recordedNs());
      json.put("without_io_ns", overview.longest_work_ns);
      json.put("expected_ns", dry.expectedNs());
    });
  });
}

}  // namespace omnio::replay
