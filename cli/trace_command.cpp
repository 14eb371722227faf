// omnio trace: runs a command with the tracer preloaded, and outlives it: what a killed process
// left in memory is brought into the trace, and the manifest is written.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/manifest.hpp"
#include "cli/output.hpp"
#include "cli/preload.hpp"
#include "cli/trace_directory.hpp"
#include "cli/untraceable.hpp"
#include "core/collect.hpp"
#include "core/wire/info.hpp"
#include "core/wire/path_pattern.hpp"

namespace omnio::cli {
namespace {

constexpr int kOwnTrouble = 125;  // as env(1) and timeout(1) have it

struct Request {
  TraceSettings settings;
  std::string directory;
  std::string flavour = "auto";
  std::vector<std::string> command;
  bool explain = false;
  bool list_filters = false;
};

std::int64_t unixNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

std::string hostName() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

int listFilters() {
  std::string text;
  std::string_view rest = wire::kDefaultExclude;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    text += rest.substr(0, end);
    text += '\n';
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return printAll(text);
}

// Other ranks may still be writing their last lines when rank 0 is done.
struct Reading {
  Result<Trace> trace;
  Wholeness wholeness;
};

Reading readWhenSettled(const std::filesystem::path& directory, const Launcher& launcher) {
  constexpr int kTries = 40;
  constexpr useconds_t kPauseUs = 50000;
  for (int i = 0;; ++i) {
    Result<Trace> trace = Trace::open(directory);
    Wholeness wholeness;
    if (trace) wholeness = assess(*trace);
    const bool settled = launcher.ranks <= 1 || (trace && wholeness.whole);
    if (settled || i == kTries) return {std::move(trace), std::move(wholeness)};
    usleep(kPauseUs);
  }
}

void explain(const Trace& trace) {
  for (const auto& process : trace.processes()) {
    const ProcessInfo& facts = process->info;
    const auto rank = facts.rank();
    fmt::print(stderr, "omnio: {}pid {} {}: {} ({})\n",
               rank ? fmt::format("rank {} ", *rank) : std::string(), process->pid,
               facts.text(wire::info::kProgram), facts.text(wire::info::kFlavour),
               facts.text(wire::info::kFlavourReason));
  }
}

// What there is to say once the command has ended. Its exit status stands whatever comes up here.
void conclude(const Request& request, const std::filesystem::path& directory,
              const Launcher& launcher, Launch launch) {
  std::error_code error;
  const std::vector<std::filesystem::path> left = deadRingsOf(directory);
  if (!std::filesystem::exists(directory, error)) {
    printFailure(fmt::format("{} is gone, and the trace with it{}", directory.native(),
                             left.empty() ? ""
                                          : "; what its processes left in memory is removed by "
                                            "`omnio collect --discard`"));
    return;
  }
  // Where nothing was left the containers need not be looked at: each of thousands of ranks may
  // have an `omnio trace` of its own.
  const CollectReport collected = left.empty() ? CollectReport{} : collectRings(directory);
  launch.events_collected = collected.events;
  launch.troubles = collected.troubles;
  for (const std::string& trouble : collected.troubles) printFailure(trouble);
  if (launcher.writes_documents || launch.exit_code != 0) {
    const auto written = writeLaunch(directory, launch);
    if (!written) printFailure(written.failure().sentence);
  }
  if (!launcher.writes_documents) return;

  const Reading reading = readWhenSettled(directory, launcher);
  if (!reading.trace) {
    const auto containers = containersIn(directory);
    if (!containers || !containers->empty()) {
      printFailure(reading.trace.failure().sentence);
      return;
    }
    // A command without I/O on files is no trouble; one that cannot be traced is.
    const std::string reason = whyUntraceable(request.command.front());
    if (!reason.empty()) printFailure(fmt::format("nothing was traced: {}", reason));
    return;
  }
  const auto written = writeManifest(*reading.trace, reading.wholeness);
  if (!written) printFailure(written.failure().sentence);
  // That a command failed it has said itself; what it cannot know is that events are missing.
  if (launch.exit_code == 0 || reading.wholeness.events_missing > 0) {
    for (const std::string& reason : reasonsInBrief(reading.wholeness)) {
      printFailure(fmt::format("the trace is not whole: {}", reason));
    }
  }
  if (request.explain) explain(*reading.trace);
  if (isatty(STDERR_FILENO) != 0) {
    fmt::print(stderr, "omnio: {} events of {} processes in {}\n", reading.wholeness.events,
               reading.wholeness.processes, directory.native());
  }
}

int work(const Request& request) {
  if (request.list_filters) return listFilters();
  const Result<std::filesystem::path> library = findLibrary(request.settings.flavour);
  if (!library) {
    printFailure(library.failure().sentence);
    return kOwnTrouble;
  }
  const Launcher launcher = launcherOf();
  const std::filesystem::path wanted = request.directory.empty()
                                           ? defaultDirectory(request.command.front(), launcher)
                                           : std::filesystem::path(request.directory);
  const Result<std::filesystem::path> directory = claimDirectory(wanted, launcher);
  if (!directory) {
    printFailure(directory.failure().sentence);
    return kOwnTrouble;
  }
  TraceSettings settings = request.settings;
  settings.directory = *directory;
  setEnvironment(settings, *library);

  Launch launch{.command = request.command,
                .host = hostName(),
                .flavour = nameOf(settings.flavour),
                .library = library->native(),
                .pid = getpid(),
                .started_ns = unixNs(),
                .ended_ns = 0,
                .exit_code = 0,
                .signal = 0,
                .events_collected = 0,
                .troubles = {}};
  const ChildEnd end = runChild(request.command);
  launch.ended_ns = unixNs();
  launch.exit_code = end.exitCode();
  launch.signal = end.signal;
  if (end.start_error != 0) {
    printFailure(fmt::format("cannot run {}: {}", request.command.front(),
                             std::generic_category().message(end.start_error)));
    releaseDirectory(*directory, launcher);
    return end.exitCode();
  }
  // The library is for the command alone.
  unsetenv("LD_PRELOAD");
  conclude(request, *directory, launcher, std::move(launch));
  return end.exitCode();
}

}  // namespace

void addTraceCommand(CLI::App& app, int& exit_code) {
  const auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand(
      "trace", "Run COMMAND and record its I/O; exits with the status of COMMAND");
  command->add_option("-o,--output", request->directory,
                      "Trace directory (default: PROGRAM.JOB.trace here)");
  command->add_option("--flavour", request->flavour, "Which tracer to preload (default: auto)")
      ->check(CLI::IsMember({"auto", "serial", "openmp", "mpi", "hybrid"}))
      ->type_name("NAME");
  command
      ->add_option("--exclude", request->settings.exclude,
                   "Leave out files whose path matches GLOB; may be given more than once")
      ->type_name("GLOB")
      ->expected(1)
      ->take_all();
  command
      ->add_option("--include", request->settings.include,
                   "Record files whose path matches GLOB though another pattern leaves them out")
      ->type_name("GLOB")
      ->expected(1)
      ->take_all();
  command->add_flag("--explain", request->explain,
                    "Say at the end which flavour each process turned out to be, and why");
  command->add_flag("--list-filters", request->list_filters,
                    "Print the patterns of what is left out by default, and do nothing else");
  command->add_option("COMMAND", request->command, "The command and its arguments, after --");
  command->positionals_at_end();
  command->callback([request, &exit_code] {
    if (request->command.empty() && !request->list_filters) {
      throw CLI::RequiredError("a COMMAND to run");
    }
    request->settings.flavour = flavourOf(request->flavour);
    exit_code = work(*request);
  });
}

}  // namespace omnio::cli
