#include "cli/trace/recording.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "cli/output.hpp"
#include "cli/trace/child.hpp"
#include "cli/trace/manifest.hpp"
#include "cli/trace/part_taker.hpp"
#include "cli/trace/prefetching.hpp"
#include "cli/trace/preload.hpp"
#include "cli/trace/trace_directory.hpp"
#include "core/base/log.hpp"
#include "core/base/printable.hpp"
#include "core/order/host_offsets.hpp"
#include "core/tracefile/collect.hpp"
#include "core/tracefile/log_parts.hpp"
#include "core/tracefile/trace_identity.hpp"
#include "core/tracefile/unlogged.hpp"
#include "core/wire/info.hpp"
#include "logging/logging.hpp"
#include "replay/launch.hpp"

namespace omnio::cli {
namespace {

std::int64_t unixNs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// Other ranks may still be writing their last lines when rank 0 is done.
struct Reading {
  base::Result<tracefile::Trace> trace;
  tracefile::Wholeness wholeness;
};

Reading readWhenSettled(const std::filesystem::path& directory, const Launcher& launcher) {
  constexpr useconds_t kPauseUs = 50000;
  // By the clock: opening a trace of thousands of processes takes longer than the pause.
  const auto begin = std::chrono::steady_clock::now();
  const auto deadline = begin + std::chrono::seconds(2);
  // A helper that ends with its program (the tracker of Python's shared memory) ends a moment after
  // it. One that has no rank and goes on is a daemon, which is not waited for.
  const auto end_of_helpers = begin + std::chrono::milliseconds(500);
  while (true) {
    base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory);
    tracefile::Wholeness wholeness;
    if (trace) wholeness = tracefile::assess(*trace);
    const auto now = std::chrono::steady_clock::now();
    const bool is_running =
        trace && std::ranges::any_of(trace->processes(), [](const auto& process) {
          return process->life == tracefile::Life::kRunning;
        });
    const bool settled = (launcher.ranks <= 1 && (!is_running || now >= end_of_helpers)) ||
                         (trace && wholeness.settled);
    if (settled || now >= deadline) {
      return {std::move(trace), std::move(wholeness)};
    }
    usleep(kPauseUs);
  }
}

void explain(const tracefile::Trace& trace) {
  for (const auto& process : trace.processes()) {
    const tracefile::ProcessInfo& facts = process->info;
    const auto rank = facts.rank();
    fmt::print(stderr, "omnio: {}pid {} {}: {} ({})\n",
               rank ? fmt::format("rank {} ", *rank) : std::string(), process->pid,
               base::printable(facts.text(wire::info::kProgram)), facts.text(wire::info::kFlavour),
               base::safeText(facts.text(wire::info::kFlavourReason)));
  }
}

// Reports on the trace once the command has ended. Nothing here changes the exit status.
void conclude(const RecordingRequest& request, const OpenDirectory& opened, const wire::Run& run,
              const Launcher& launcher, Launch launch) {
  const std::optional<std::filesystem::path> there = opened.path();
  if (!there) {
    // Without the directory these rings can never be collected.
    const auto identity = tracefile::TraceIdentity::ofRun(run.id);
    std::error_code error;
    for (const auto& ring : tracefile::deadRingsOf(identity).rings) {
      std::filesystem::remove(ring, error);
    }
    for (const auto& part : tracefile::partFiles(tracefile::ringDirectories(), identity)) {
      std::filesystem::remove(part.path, error);
    }
    // The helper has removed what was not wanted, when the job's last process on the node was over.
    if (request.prefetch && request.prefetch->keeps_nothing) return;
    printFailure(fmt::format("{} is gone, and the trace with it",
                             base::printable(opened.first_path().native())));
    return;
  }
  const std::filesystem::path& directory = *there;
  if (directory != opened.first_path()) {
    printFailure(fmt::format("{} was moved; the trace is in {}",
                             base::printable(opened.first_path().native()),
                             base::printable(directory.native())));
  }
  // Where nothing was left the containers need not be looked at: each of thousands of ranks may
  // have an `omnio trace` of its own.
  const tracefile::DeadRings left = tracefile::deadRingsOf(tracefile::TraceIdentity::of(directory));
  const tracefile::CollectReport collected = left.rings.empty() && left.of_others == 0
                                                 ? tracefile::CollectReport{}
                                                 : tracefile::collectRings(directory);
  base::logDebug("{} rings were left in memory, with {} events", left.rings.size(),
                 collected.events);
  launch.events_collected = collected.events;
  launch.troubles = collected.troubles;
  for (const std::string& trouble : collected.troubles) printFailure(trouble);
  const bool is_kept = !request.prefetch || !request.prefetch->keeps_nothing;
  if (is_kept && (launcher.writes_documents || launch.exit_code != 0)) {
    const auto written = writeLaunch(directory, launch);
    if (!written) printFailure(written.failure().sentence);
  }
  if (request.prefetch) concludePrefetching(*request.prefetch, directory, run.id, launcher);
  if (!launcher.writes_documents || !is_kept) return;

  Reading reading = readWhenSettled(directory, launcher);
  if (!reading.trace) {
    // A command without I/O on files is fine.
    const auto containers = tracefile::containersIn(directory);
    if (!containers || !containers->empty()) printFailure(reading.trace.failure().sentence);
    return;
  }
  // A longer trace is left to the first command that reads it: the job need not wait.
  constexpr std::uint64_t kMostEventsToRead = 1'000'000;
  if (reading.wholeness.events <= kMostEventsToRead) order::useClocks(*reading.trace);
  const auto written = writeManifest(*reading.trace, reading.wholeness);
  if (!written) printFailure(written.failure().sentence);
  // That a command failed it has said itself; what it cannot know is that events are missing.
  if (launch.exit_code == 0 || reading.wholeness.events_missing > 0 ||
      !reading.trace->untraced().empty() || !reading.trace->ended().empty()) {
    for (const std::string& reason : tracefile::reasonsInBrief(reading.wholeness)) {
      printFailure(fmt::format("the trace is not whole: {}", reason));
    }
  }
  if (request.word(wire::SettingId::kExplain) == "yes") explain(*reading.trace);
  if (isatty(STDERR_FILENO) != 0) {
    for (const std::string& note : tracefile::allNotes(reading.wholeness)) {
      printFailure(note);
    }
    fmt::print(stderr, "omnio: {} events of {} processes in {}: {}\n", reading.wholeness.events,
               reading.wholeness.processes, base::printable(directory.native()),
               growthText(growthOf(*reading.trace)));
  }
}

}  // namespace

// The application is worth more than what it would have been given.
int runWithout(const std::vector<std::string>& command, const base::Failure& failure) {
  printFailure(fmt::format("nothing is prefetched: {}", failure.sentence));
  const ChildEnd end = runChild(command);
  if (end.start_error != 0) {
    fail(base::systemFailure(command.front(), end.start_error, "cannot run"));
  }
  return end.exitCode();
}

int record(RecordingRequest request) {
  const std::string& flavour = request.word(wire::SettingId::kFlavour);
  const base::Result<std::filesystem::path> library =
      findLibrary(flavour, request.word(wire::SettingId::kLibraryDirectory));
  if (!library) {
    if (request.prefetch) return runWithout(request.command, library.failure());
    return fail(library.failure(), kOwnTrouble);
  }
  const Launcher launcher = launcherOf();
  if (request.prefetch && request.prefetch->keeps_nothing) {
    const auto place = directoryOfNothing(launcher);
    if (!place) return runWithout(request.command, place.failure());
    keepNothing(request.values, *place);
  }
  const replay::LaunchedAs place = replay::launchedAs();
  logging::start({.level = base::logLevelFor(request.verbosity),
                  .program = "omnio trace",
                  .rank = place.is_launched ? std::optional(place.rank) : std::nullopt});
  base::logInfo("records with {}", library->native());
  const std::string& output = request.word(wire::SettingId::kOutput);
  const std::filesystem::path wanted = output.empty()
                                           ? defaultDirectory(request.command.front(), launcher)
                                           : std::filesystem::path(output);
  const base::Result<ClaimedDirectory> directory = claimDirectory(wanted, launcher);
  if (!directory) {
    if (request.prefetch && request.prefetch->keeps_nothing) {
      return runWithout(request.command, directory.failure());
    }
    return fail(directory.failure(), kOwnTrouble);
  }
  const OpenDirectory opened(directory->path);
  base::logInfo("the trace directory is {}", directory->path.native());
  setEnvironment(request.values, *directory, *library);
  if (request.prefetch) askForPrefetching(*request.prefetch, launcher);
  const CommandCheck command = checkCommand(request.command.front());
  prepareEnvironmentFor(command);

  Launch launch{.command = request.command,
                .host = tracefile::thisHost(),
                .flavour = flavour,
                .library = library->native(),
                .pid = getpid(),
                .started_ns = unixNs(),
                .troubles = {}};
  const bool is_kept = !request.prefetch || !request.prefetch->keeps_nothing;
  std::optional<PartTaker> parts(std::in_place, directory->path, directory->run, is_kept);
  const ChildEnd end =
      runChild(request.command,
               {.also_pass_on = *wire::parseSignal(request.word(wire::SettingId::kToggleSignal))});
  parts.reset();
  launch.ended_ns = unixNs();
  launch.exit_code = end.exitCode();
  base::logInfo("{} ended with status {}", request.command.front(), launch.exit_code);
  launch.signal = end.signal;
  if (end.start_error != 0) {
    fail(base::systemFailure(request.command.front(), end.start_error, "cannot run"));
    releaseDirectory(directory->path, launcher);
    return end.exitCode();
  }
  if (!command.check.reason) {
    tracefile::noteMoved(directory->path, launch.host, static_cast<std::uint32_t>(end.pid),
                         command.program.native(), end.moved, end.signal);
  }
  if (command.check.reason) {
    tracefile::noteUntraced(directory->path, launch.host, *command.check.reason, command.program);
  }
  // The library is for the command alone.
  unsetenv("LD_PRELOAD");
  conclude(request, opened, directory->run, launcher, std::move(launch));
  // A launcher reports how its rank ended, and acts on it: a signal is another thing to it than a
  // status of 128+n.
  if (end.signal != 0 && !launcher.job.empty()) endBySignal(end.signal);
  return end.exitCode();
}

}  // namespace omnio::cli
