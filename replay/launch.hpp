// Before the replay proper, and before MPI starts: the schedule is compiled, the target looked at
// and made ready, and the program starts itself again under `omnio trace`. The first rank does the
// work; the others wait until it is done, since nothing may appear under the name of the output
// before the schedule has been accepted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/command_line.hpp"
#include "core/base/log.hpp"
#include "core/base/result.hpp"
#include "core/model/schedule.hpp"
#include "replay/plan/compile.hpp"
#include "replay/plan/placement.hpp"
#include "replay/run/flags.hpp"
#include "replay/run/sleeper.hpp"
#include "replay/target/prepare.hpp"
#include "replay/target/targets.hpp"

namespace omnio::replay {

// The data to write back once the last call has ended; the makespan does not have the time of it.
enum class Sync : std::uint8_t {
  kNone,
  kFile,   // each file that the schedule writes
  kFinal,  // the file system of the target
};
inline constexpr base::Word<Sync> kSyncs[] = {
    {Sync::kNone, "none"}, {Sync::kFile, "file"}, {Sync::kFinal, "final"}};

struct Request {
  std::string program = "omnio-replay";  // that speaks
  std::filesystem::path schedule;
  Targets targets;               // at least one
  std::filesystem::path output;  // the trace directory
  // A directory that each node has for itself, for files that were on a node; empty: they lie in
  // the targets.
  std::filesystem::path node_local;
  std::filesystem::path omnio;  // the command line program; empty: looked for
  Changes changes;
  Cache cache = Cache::kCold;
  Place place = Place::kRoundRobin;
  Content content;  // of prepared files and of writes
  Sync sync = Sync::kFinal;
  Compute compute = Compute::kAuto;
  std::optional<WaitKind> wait;         // else by the processors that there are
  std::int64_t stall_ns = 60000000000;  // give up when nothing moves for so long
  std::optional<double> late_limit;     // beyond it the status is 3; see Report::late_limit
  bool fresh = false;
  bool trace = true;
  bool partial = false;       // a schedule that lacks data is taken as it is
  bool ignores_room = false;  // goes on where the target seems to have too little
  double fill_memory = 0;     // the share of a node's memory that is kept from its page cache
  // The programs are in the output directory already: `omnio replay` has compiled them.
  bool compiled = false;
};

// The options that `omnio replay` and omnio-replay have in common.
struct RequestOptions {
  Request request;
  std::vector<std::string> targets;  // words of --target
  std::vector<std::string> maps;     // and of --map
  std::string timing;                // empty: the schedule's own
  std::string order = "all";
  double network_scale = 1;
  std::string inputs = "make";
  std::string cache = "cold";
  std::string place = "round-robin";
  std::string data = "random";
  std::string sync = "final";
  std::string compute = "auto";
  std::string wait = "auto";
  std::string fill_memory;  // empty: none
  double stall_s = 60;
  std::string late_limit;  // empty: a late replay is told, and not refused
  bool no_trace = false;
  int verbosity = 0;      // of -v and -vv
  std::string log_level;  // of --log, by which `omnio replay` tells its ranks; empty: by -v

  // The options have to outlive the command. `is_required`: the schedule.
  void addTo(base::Command command, bool is_required = true);
  // After parsing: fills in the request, with absolute paths. Without an output directory,
  // "melt.json" goes to "melt.replay" in the working directory. Fails for wrong usage.
  base::Result<void> complete();
  base::LogLevel logLevel() const;
  // The options again, as words, without schedule and output.
  std::vector<std::string> words() const;
};

// A program of ours beside this one, as installed or (in that folder) as built. Where there is none
// the sentence is "NAME... is not beside FOLDER...", with the role and the remedy for the dots.
base::Result<std::filesystem::path> programBeside(const char* name, const char* folder_as_built,
                                                  std::string_view role, std::string_view remedy);

// That the schedule's trace was not whole, and why.
std::string lackSentence(const std::filesystem::path& schedule,
                         const model::ScheduleGlobal& global);

std::filesystem::path programsIn(const std::filesystem::path& output);
// Where a rank that `omnio replay` started leaves its log for that to print: a launcher would mix
// the lines of ranks. Names of all of them begin with this.
inline constexpr std::string_view kRankLog = "log.";
std::filesystem::path rankLog(const std::filesystem::path& output, int rank);
// The node that this process is on.
std::string ownHost();

// Says why the replay failed, once for all its processes: later calls, by any of them, do nothing.
// When `omnio replay` started the process, the sentence goes into a file for it to print, else to
// stderr.
void sayFailure(const Request& request, const std::string& sentence);
// The same for what the replay prints when it is done. Fails when the file cannot be written.
base::Result<void> sayReport(const Request& request, const std::string& text);
// The text that the processes have left for `omnio replay` to print, if they have.
std::optional<std::string> failureSaid(const std::filesystem::path& output);
std::optional<std::string> reportSaid(const std::filesystem::path& output);

// Fails when a target, output or schedule lies in the directory of nodes, or that in one of them.
base::Result<void> checkNodeLocal(const Request& request);

// Fails when a target has no room for the replay (checkTargetsRoom). What lies in the directories
// of nodes is looked at when it is known which node has it.
base::Result<void> checkTargetRoom(const Request& request, const Plan& plan);

// Fails where a process would need more descriptors than it may have on this node.
base::Result<void> checkDescriptors(const Request& request, const Plan& plan, int processes);

// Fails where calls of MPI-IO would have names with a colon that begin with the path of a target.
base::Result<void> checkNamesForMpi(const Request& request, const Plan& plan);

// The directories above a path that are not there, the nearest first: who makes them for nothing
// removes them again.
std::vector<std::filesystem::path> missingAbove(const std::filesystem::path& path);
// Those of them that are empty.
void removeEmpty(const std::vector<std::filesystem::path>& directories);

// Fails when the output directory holds anything but, if `compiled`, the programs.
base::Result<void> checkOutput(const Request& request);
// That, and fails when one of the directories lies in another, or the target is not for a replay.
base::Result<void> checkDirectories(const Request& request);

// This process among those that the launcher started; {0, 1} without one.
struct LaunchedAs {
  int rank = 0;
  int ranks = 1;
  bool is_launched = false;
};
LaunchedAs launchedAs();

// The work of the first rank, or waiting for it. Returns the first tree. nullopt: the first rank
// was refused and has said why.
std::optional<std::filesystem::path> makeReady(const Request& request, LaunchedAs place);
// Where makeReady() has left word of the first tree.
base::Result<std::filesystem::path> readyTree(const Request& request);

// Whether this process runs under the tracer that startTraced() put around it.
bool isTraced();
// Runs `omnio trace ... -- argv` as a child. Returns its exit status; fails when it cannot be
// started, or is ended by a signal: a launcher only tells that some process has ended.
base::Result<int> runTraced(const Request& request, const std::filesystem::path& tree, char** argv);

}  // namespace omnio::replay
