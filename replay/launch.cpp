#include "replay/launch.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/base/document_file.hpp"
#include "core/base/file.hpp"
#include "core/base/printable.hpp"
#include "core/event/memory_files.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/storage/held_memory.hpp"
#include "core/wire/run.hpp"
#include "replay/issue/libc.hpp"
#include "replay/plan/compile.hpp"
#include "replay/plan/descriptor_use.hpp"
#include "replay/target/adopt.hpp"
#include "replay/target/memory.hpp"
#include "replay/target/sources.hpp"
#include "replay/target/tree.hpp"

namespace omnio::replay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrograms = "replay-programs";
constexpr const char* kReady = "ready";
constexpr const char* kFailure = "failure";
constexpr const char* kReport = "report";
constexpr const char* kStage = "OMNIO_REPLAY_TRACED";

// Word to the other ranks that the first one has given up; there for as long as they may need.
fs::path refusalOf(const fs::path& output) { return output.native() + ".refused"; }

void pauseMs(long ms) {
  const timespec pause{.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  nanosleep(&pause, nullptr);
}

// This host, and who started this process: all ranks of a job on one node have these in common.
std::pair<std::string, pid_t> ownOrigin() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return {host, getppid()};
}

// Whether the word is there, and not one that an earlier replay left, whose launcher ended it
// before it could remove that.
bool isRefused(const fs::path& output) {
  const fs::path word = refusalOf(output);
  std::ifstream in(word);
  std::string host;
  pid_t parent = 0;
  if (!(in >> host >> parent)) return false;
  const auto [own_host, own_parent] = ownOrigin();
  if (host == own_host) return parent == own_parent;
  constexpr std::time_t kMostAgeS = 60;
  struct stat facts {};
  return stat(word.c_str(), &facts) == 0 && std::time(nullptr) - facts.st_mtime < kMostAgeS;
}

void tellRefusal(const fs::path& output, LaunchedAs place) {
  if (place.ranks <= 1) return;
  const fs::path word = refusalOf(output);
  const auto [host, parent] = ownOrigin();
  // Complete when it appears.
  (void)base::writeDocument(word, fmt::format("{} {}\n", host, parent));
  pauseMs(1000);
  std::error_code ignored;
  fs::remove(word, ignored);
}

}  // namespace

base::Result<void> checkNodeLocal(const Request& request) {
  if (request.node_local.empty()) return {};
  std::error_code error;
  const std::string own = fs::weakly_canonical(request.node_local, error).native() + "/";
  std::vector<fs::path> others = {request.output, request.schedule};
  for (const Target& target : request.targets) others.push_back(target.directory);
  for (const fs::path& other : others) {
    const std::string path = fs::weakly_canonical(other, error).native() + "/";
    if (!path.starts_with(own) && !own.starts_with(path)) continue;
    return base::failure(base::Code::kInvalid,
                         "--node-local {} and {} lie in each other: the tree there is made anew",
                         base::printable(request.node_local.native()),
                         base::printable(other.native()));
  }
  return {};
}

base::Result<void> checkNamesForMpi(const Request& request, const Plan& plan) {
  if (!plan.global.mpi) return {};
  for (std::uint32_t i = 1; i < request.targets.size(); ++i) {
    const Target& target = request.targets[i];
    std::error_code ignored;
    const fs::path real = fs::weakly_canonical(target.directory, ignored);
    const bool is_used = std::ranges::find(plan.files, i, &PlannedFile::tree) != plan.files.end();
    if (!is_used || real.native().find(':') == std::string::npos) continue;
    return base::failure(base::Code::kInvalid,
                         "--target {}: {}; name a directory without a colon, or make it the first "
                         "target",
                         base::printable(wordOf(target)), kColonInMpi);
  }
  return {};
}

std::vector<fs::path> missingAbove(const fs::path& path) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path above = path.parent_path();
       above.has_relative_path() && !fs::exists(fs::symlink_status(above, error));
       above = above.parent_path()) {
    missing.push_back(above);
  }
  return missing;
}

void removeEmpty(const std::vector<fs::path>& directories) {
  std::error_code ignored;
  for (const fs::path& directory : directories) fs::remove(directory, ignored);
}

base::Result<void> checkTargetRoom(const Request& request, const Plan& plan) {
  if (request.ignores_room) return {};
  return checkTargetsRoom(request.targets, plan);
}

base::Result<void> checkDescriptors(const Request& request, const Plan& plan, int processes) {
  // Each process raises its own limit as far as that.
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  return checkDescriptorLimit(plan, placementOf(plan, processes, request.place), limit.rlim_max);
}

namespace {

base::Result<fs::path> prepareOutput(const Request& request) {
  if (const auto free = checkDirectories(request); !free) return free.failure();
  const fs::path programs = programsIn(request.output);
  std::error_code ignored;
  fs::remove(refusalOf(request.output), ignored);  // of an earlier replay
  const std::vector<fs::path> missing = missingAbove(request.output);
  base::Result<void> fits;
  if (!request.compiled) {
    const base::Result<Plan> plan = compileSchedule(request.schedule, programs, request.changes);
    if (!plan) {
      removeEmpty(missing);
      return plan.failure();
    }
    fits = checkSources(*plan, request.targets, request.node_local);
    if (fits) fits = checkNamesForMpi(request, *plan);
    if (fits) fits = checkTargetRoom(request, *plan);
    if (fits) fits = checkDescriptors(request, *plan, launchedAs().ranks);
    for (const std::string& sentence : unusedTargets(request.targets, request.node_local, *plan)) {
      fmt::print(stderr, "{}: {}\n", request.program, base::safeText(sentence));
    }
  }
  base::Result<fs::path> tree =
      fits ? makeTrees(request.targets, request.fresh, request.changes.inputs == Origin::kKept)
           : base::Result<fs::path>(fits.failure());
  if (tree) {
    const auto written = base::writeDocument(programs / kReady, tree->native());
    if (!written) return written.failure();
    return tree;
  }
  // `omnio replay` removes what it has made itself, when it has read the failure that is in there.
  if (!request.compiled) fs::remove_all(programs, ignored);
  fs::remove(request.output, ignored);  // if it is empty
  removeEmpty(missing);
  return tree;
}

std::string escaped(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Lets the trace have the inputs that are read in place.
void includeInPlace(const Plan& plan, std::vector<std::string>& words) {
  // All patterns together have to fit into the tracer's settings.
  constexpr std::size_t kMostBytes = 4096;
  std::size_t bytes = 0;
  std::vector<std::string> patterns;
  for (const PlannedFile* file : filesInPlace(plan)) {
    std::string pattern = escaped(file->source);
    // Between two there is a colon, and one in a pattern is escaped.
    bytes += pattern.size() + static_cast<std::size_t>(std::ranges::count(pattern, ':')) + 1;
    patterns.push_back(std::move(pattern));
  }
  if (bytes <= kMostBytes) {
    for (const std::string& pattern : patterns) {
      words.insert(words.end(), {"--include", pattern});
    }
    return;
  }
  // Then the trace has all but what no trace has.
  const auto exclude = std::ranges::find(words, "--exclude");
  words.erase(exclude, exclude + 2);
}

base::Result<fs::path> findOmnio(const fs::path& wanted) {
  if (!wanted.empty()) {
    if (access(wanted.c_str(), X_OK) == 0) return wanted;
    return base::failure(base::Code::kNotFound, "{}: cannot be run",
                         base::printable(wanted.native()));
  }
  return programBeside("omnio", "cli", ", which traces the replay,",
                       "; name it with --omnio, or do without a trace with --no-trace");
}

std::optional<std::string> contentOf(const fs::path& path) {
  std::ifstream in(path);
  if (!in) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

volatile std::sig_atomic_t child = 0;
volatile std::sig_atomic_t passed_on = 0;  // the last signal

void passOn(int signal) {
  passed_on = signal;
  if (child > 0) kill(static_cast<pid_t>(child), signal);
}

// The exit status, 128 + n for a signal; -errno when it cannot be started.
int runAndPassSignals(std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  struct sigaction action {};
  action.sa_handler = passOn;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) {
    sigaction(signal, &action, nullptr);
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return -errno;
  if (pid == 0) {
    // A launcher that kills this process outright does not know of the child.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  child = pid;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  child = 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

base::Result<fs::path> programBeside(const char* name, const char* folder_as_built,
                                     std::string_view role, std::string_view remedy) {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& place : {folder / name, folder.parent_path() / folder_as_built / name}) {
    if (access(place.c_str(), X_OK) == 0) return place;
  }
  return base::failure(base::Code::kNotFound, "{}{} is not beside {}{}", name, role,
                       base::printable(folder.native()), remedy);
}

void RequestOptions::addTo(base::Command command, bool is_required) {
  command.option("SCHEDULE", request.schedule, "Of omnio preprocess").required(is_required);
  command
      .option("--target", targets,
              "Directory to work in; all I/O goes to DIR/tree. NAME=DIR: one more, for the files "
              "that --map sends there")
      .typeName("[NAME=]DIR")
      .repeatable();
  command
      .option("--map", maps,
              "Files whose recorded path PATTERN matches go to the target NAME; the last PATTERN "
              "that matches decides")
      .typeName("PATTERN=NAME:")
      .repeatable();
  command
      .option("--node-local", request.node_local,
              "Directory that each node has for itself: for files that a node had for itself (else "
              "they go to the target)")
      .typeName("DIR");
  command
      .option("-o,--output", request.output,
              "Trace directory of the replay (default: SCHEDULE's name with .replay)")
      .typeName("DIR");
  command.option("--timing", timing, "asap, dt or start instead of the schedule's own")
      .oneOf({"asap", "dt", "start"});
  command.option("--order", order, "Which of the schedule's waits are kept")
      .oneOf({"none", "file", "mpi", "all"})
      .showDefault();
  command
      .option("--network-scale", network_scale,
              "Multiply the time that communication itself takes (waiting apart)")
      .notNegative()
      .showDefault();
  command
      .option(
          "--inputs", inputs,
          "The files that exist before the run: made up, copied from the recorded paths, or (of "
          "those that are only read) read there, or made up and kept for the next replay")
      .oneOf({"make", "copy", "in-place", "keep"})
      .showDefault();
  command.option("--cache", cache, "State of the page cache for input files")
      .oneOf({"cold", "warm", "as-is"})
      .showDefault();
  command
      .option("--place", place, "Which recorded ranks share a process, where processes are fewer")
      .oneOf({"round-robin", "block", "recorded"})
      .showDefault();
  command
      .option("--data", data,
              "What writes carry and prepared files hold: random, zero, or data that compresses "
              "(ratio=R) and has copies (ratio=R,duplicates=SHARE)")
      .check([](const std::string& word) {
        const base::Result<Content> content = Content::parse(word);
        return content ? std::string() : content.failure().sentence;
      })
      .suggest({"random", "zero", "ratio="})
      .typeName("DATA")
      .showDefault();
  command.option("--sync", sync, "What is written back after the last call, beside the makespan")
      .oneOf({"none", "file", "final"})
      .showDefault();
  command
      .option("--compute", compute,
              "How think time passes: asleep, on a busy processor, or (auto) as in the recording "
              "where each thread has a processor")
      .oneOf({"auto", "sleep", "spin"})
      .showDefault();
  command
      .option("--wait", wait,
              "How threads wait for others; auto: spin where each has a processor, else block")
      .oneOf({"auto", "spin", "yield", "block"})
      .showDefault();
  command
      .option("--fill-memory", fill_memory,
              "Hold this share of the memory of each node, or of its control group, so that files "
              "cannot stay in the page cache; the last GiB is left")
      .check(storage::whyNoMemoryShare)
      .typeName("SHARE%");
  command
      .option("--stall", stall_s,
              "Give up when nothing moves for so many seconds, think time apart")
      .positive()
      .showDefault();
  command
      .option("--late-limit", late_limit,
              "Status 3 where the replayer's own lateness is a larger share of the makespan: the "
              "time then says nothing of the storage")
      .typeName("PERCENT")
      .percent();
  command.flag("--fresh", request.fresh, "Remove the tree of an earlier replay");
  command.flag("--partial", request.partial,
               "Take a schedule that lacks data as it is; else the status is 3");
  command.flag("--ignore-free-space", request.ignores_room,
               "Go on where the target seems to have too little room");
  command.flag("--no-trace", no_trace, "Write the report alone, and no trace");
  command.countedFlag("-v,--verbose", verbosity,
                      "Say on standard error which steps it goes through; -vv: all that it does");
  command.option("--log", log_level, "").hidden();
}

base::LogLevel RequestOptions::logLevel() const {
  return base::valueOf(base::kLogLevels, log_level).value_or(base::logLevelFor(verbosity));
}

base::Result<void> RequestOptions::complete() {
  request.trace = !no_trace;
  request.cache = *base::valueOf(kCaches, cache);
  request.changes = {.timing = base::valueOf(model::kTimings, timing),
                     .order = *base::valueOf(model::kOrders, order),
                     .network_scale = network_scale,
                     .inputs = *base::valueOf(kOrigins, inputs)};
  request.content = *Content::parse(data);
  request.place = *base::valueOf(kPlaces, place);
  request.sync = *base::valueOf(kSyncs, sync);
  request.compute = *base::valueOf(kComputes, compute);
  request.wait = base::valueOf(kWaitKinds, wait);
  request.fill_memory = base::shareOf(fill_memory).value_or(0);
  request.stall_ns = static_cast<std::int64_t>(std::min(stall_s, 1e9) * 1e9);
  if (!late_limit.empty()) request.late_limit = base::shareOf(late_limit);
  if (request.output.empty()) request.output = request.schedule.stem().native() + ".replay";
  // Of a link, what it leads to: where nothing is left in it, the directory goes, and not the link.
  std::error_code error;
  if (fs::is_symlink(request.output, error)) {
    const fs::path real = fs::canonical(request.output, error);
    if (!error) request.output = real;
  }
  for (fs::path* path : {&request.schedule, &request.output, &request.node_local}) {
    if (!path->empty()) *path = wholePath(*path);
  }
  base::Result<Targets> named = readTargets(targets);
  if (!named) return named.failure();
  request.targets = std::move(*named);
  // `omnio replay` has named them all.
  if (!request.compiled) addTargetsOf(request.schedule, request.targets);
  if (request.targets.empty()) {
    return base::failure(
        base::Code::kInvalid,
        "--target is required, since \"targets\" of the schedule names no directory");
  }
  base::Result<std::vector<TargetMap>> mapped = readTargetMaps(maps, request.targets);
  if (!mapped) return mapped.failure();
  TargetRules& rules = request.changes.targets.emplace();
  for (const Target& target : request.targets) rules.names.push_back(target.name);
  rules.maps = std::move(*mapped);
  rules.has_node_trees = !request.node_local.empty();
  return {};
}

std::vector<std::string> RequestOptions::words() const {
  std::vector<std::string> words = {"--order",         order,
                                    "--inputs",        inputs,
                                    "--cache",         cache,
                                    "--place",         place,
                                    "--data",          data,
                                    "--sync",          sync,
                                    "--compute",       compute,
                                    "--wait",          wait,
                                    "--stall",         fmt::format("{}", stall_s),
                                    "--network-scale", fmt::format("{}", network_scale)};
  for (const Target& target : request.targets) {
    words.insert(words.end(), {"--target", wordOf(target)});
  }
  for (const std::string& map : maps) words.insert(words.end(), {"--map", map});
  if (!fill_memory.empty()) words.insert(words.end(), {"--fill-memory", fill_memory});
  if (!timing.empty()) words.insert(words.end(), {"--timing", timing});
  if (!late_limit.empty()) words.insert(words.end(), {"--late-limit", late_limit});
  if (request.fresh) words.emplace_back("--fresh");
  if (request.partial) words.emplace_back("--partial");
  if (request.ignores_room) words.emplace_back("--ignore-free-space");
  if (no_trace) words.emplace_back("--no-trace");
  if (!request.node_local.empty()) {
    words.insert(words.end(), {"--node-local", request.node_local.native()});
  }
  if (!request.omnio.empty()) words.insert(words.end(), {"--omnio", request.omnio.native()});
  if (logLevel() != base::LogLevel::kOff) {
    words.insert(words.end(), {"--log", std::string(base::wordOf(base::kLogLevels, logLevel()))});
  }
  return words;
}

std::string lackSentence(const fs::path& schedule, const model::ScheduleGlobal& global) {
  constexpr std::size_t kMost = 3;
  const std::vector<std::string>& all = global.left_out;
  const std::size_t shown = std::min(all.size(), kMost);
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(shown);
  return fmt::format("{}: the schedule lacks data{}{}{}; without --partial the status is 3",
                     base::printable(schedule.native()), shown == 0 ? "" : ": ",
                     fmt::join(all.begin(), end, "; "),
                     shown < all.size() ? "; the rest is in left_out of its source" : "");
}

fs::path programsIn(const fs::path& output) { return output / kPrograms; }

fs::path rankLog(const fs::path& output, int rank) {
  return programsIn(output) / fmt::format("{}{}", kRankLog, rank);
}

std::string ownHost() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return base::printable(host);
}

namespace {

// Puts the text there, unless another process has done so. Other processes that fail at the same
// time end all processes: a file that is there is complete. False where it cannot be written.
bool leaveFirst(const fs::path& path, const std::string& text) {
  const fs::path draft = fmt::format("{}.{}", path.native(), launchedAs().rank);
  const int fd =
      raw::openAt(AT_FDCWD, draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return false;
  bool is_left = base::writeAll(fd, text.data(), text.size(), 0) == 0;
  raw::closeFd(fd);
  if (is_left) {
    is_left =
        raw::systemCall(SYS_linkat, AT_FDCWD, draft.c_str(), AT_FDCWD, path.c_str(), 0) == 0 ||
        errno == EEXIST ||
        // A file system without hard links.
        raw::renameAt(AT_FDCWD, draft.c_str(), AT_FDCWD, path.c_str()) == 0;
  }
  raw::systemCall(SYS_unlinkat, AT_FDCWD, draft.c_str(), 0);
  return is_left;
}

}  // namespace

void sayFailure(const Request& request, const std::string& sentence) {
  base::logWarn("fails: {}", sentence);
  const fs::path path = programsIn(request.output) / kFailure;
  if (request.compiled && leaveFirst(path, sentence)) return;
  const int fd = raw::openAt(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0 && errno == EEXIST) return;
  if (fd >= 0) raw::closeFd(fd);
  fmt::print(stderr, "{}: {}\n", request.program, base::safeText(sentence));
  std::fflush(stderr);
}

base::Result<void> sayReport(const Request& request, const std::string& text) {
  if (request.compiled) return base::writeDocument(programsIn(request.output) / kReport, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return {};
  }
  return base::systemFailure("standard output", errno);
}

std::optional<std::string> failureSaid(const fs::path& output) {
  std::optional<std::string> sentence = contentOf(programsIn(output) / kFailure);
  // A full device may have taken the name alone; then the process has said it on stderr.
  if (sentence && sentence->empty()) return std::nullopt;
  return sentence;
}

std::optional<std::string> reportSaid(const fs::path& output) {
  return contentOf(programsIn(output) / kReport);
}

base::Result<void> checkOutput(const Request& request) {
  std::error_code error;
  const fs::file_status status = fs::status(request.output, error);
  if (status.type() == fs::file_type::not_found) return {};
  if (error || status.type() != fs::file_type::directory) {
    return base::failure(base::Code::kInvalid, "{}: not a directory",
                         base::printable(request.output.native()));
  }
  for (const auto& entry : fs::directory_iterator(request.output, error)) {
    if (request.compiled && entry.path().filename() == kPrograms) continue;
    return base::failure(base::Code::kInvalid,
                         "{} is not empty; name another directory with -o, or remove it",
                         base::printable(request.output.native()));
  }
  return {};
}

namespace {

// Kept files would have the stripes that they were made with, whatever those of the directory are.
base::Result<void> checkKeptInputs(const Request& request) {
  if (request.changes.inputs != Origin::kKept) return {};
  for (const Target& target : request.targets) {
    if (!isAdopted(target.directory)) continue;
    return base::failure(base::Code::kInvalid,
                         "{} was adopted, and files in it get the stripes of its directories when "
                         "they are made; --inputs keep would not make them anew, use --inputs make",
                         base::printable(target.directory.native()));
  }
  return {};
}

}  // namespace

base::Result<void> checkDirectories(const Request& request) {
  if (const auto free = checkOutput(request); !free) return free.failure();
  // A tree is removed when it is made anew.
  for (const auto& [path, what] :
       {std::pair(request.output, "the output"), std::pair(request.schedule, "the schedule")}) {
    const auto outside = checkOutside(request.targets, path, what);
    if (!outside) return outside.failure();
  }
  if (const auto apart = checkNodeLocal(request); !apart) return apart.failure();
  if (const auto keeps = checkKeptInputs(request); !keeps) return keeps.failure();
  return checkTargets(request.targets, request.fresh);
}

LaunchedAs launchedAs() {
  for (const wire::LauncherVariables& names : wire::kLaunchers) {
    const char* rank = getenv(names.rank);
    const char* ranks = getenv(names.ranks);
    if (rank != nullptr && ranks != nullptr) return {atoi(rank), atoi(ranks), true};
  }
  return {};
}

std::optional<fs::path> makeReady(const Request& request, LaunchedAs place) {
  if (place.rank == 0) {
    base::LoggedSteps steps(base::LogLevel::kInfo);
    steps.begin("making the output and the targets ready");
    const base::Result<fs::path> tree = prepareOutput(request);
    if (tree) return *tree;
    // Before the other ranks end: a launcher ends all ranks when one fails.
    sayFailure(request, tree.failure().sentence);
    tellRefusal(request.output, place);
    return std::nullopt;
  }
  const pid_t parent = getppid();
  for (;;) {
    const base::Result<fs::path> tree = readyTree(request);
    if (tree) return *tree;
    std::error_code error;
    const bool is_refused = isRefused(request.output);
    // The first rank removes that word itself, which it cannot when the launcher ends it before.
    for (int tries = 0; is_refused && tries < 100; ++tries) {
      if (!fs::exists(refusalOf(request.output), error)) break;
      pauseMs(20);
    }
    // A launcher that has gone will not start the first rank any more.
    if (is_refused || getppid() != parent) return std::nullopt;
    pauseMs(20);
  }
}

base::Result<fs::path> readyTree(const Request& request) {
  const fs::path path = programsIn(request.output) / kReady;
  const std::optional<std::string> tree = contentOf(path);
  if (tree && !tree->empty()) return fs::path(*tree);
  return base::failure(base::Code::kNotFound, "{}: not there", base::printable(path.native()));
}

bool isTraced() { return getenv(kStage) != nullptr; }

base::Result<int> runTraced(const Request& request, const fs::path& tree, char** argv) {
  const base::Result<fs::path> omnio = findOmnio(request.omnio);
  if (!omnio) return omnio.failure();
  std::error_code error;
  const std::string self = fs::read_symlink("/proc/self/exe", error).native();
  // The serial library: what the replayer does through MPI is its own business, and its rank is
  // known from the launcher.
  std::vector<std::string> words = {omnio->native(), "trace", "-o", request.output.native(),
                                    // No setting of the user may leave out what is compared.
                                    "--no-config", "--no-start-stopped", "--toggle-signal", "none",
                                    "--max-log-size", "0", "--flavour", "serial", "--exclude", "/*",
                                    "--include", escaped(tree.native()) + "/*"};
  std::vector<fs::path> others;
  for (std::size_t i = 1; i < request.targets.size(); ++i) {
    others.push_back(request.targets[i].directory);
  }
  if (!request.node_local.empty()) others.push_back(request.node_local);
  for (const fs::path& directory : others) {
    // That of a node is made later; a directory above it may be reached by a link.
    const fs::path own = fs::weakly_canonical(directory, error) / kTreeName;
    for (const char* below : {"", "/*"}) {
      words.insert(words.end(), {"--include", escaped(own.native()) + below});
    }
  }
  // The directory has the number of the replay in its name, which is not known yet.
  const std::string in_memory = fmt::format("{}*/{}", event::kReplayMemoryPrefix, kTreeName);
  for (const char* below : {"", "/*"}) {
    words.insert(words.end(), {"--include", in_memory + below});
  }
  const base::Result<Plan> plan = readPlan(programsIn(request.output) / kPlanName,
                                           [](const Plan&, std::uint32_t) { return false; });
  if (!plan) return plan.failure();
  // MPI libraries look at their working directory, which is the tree, when they open a file.
  if (!plan->global.mpi) words.insert(words.end(), {"--include", escaped(tree.native())});
  if (request.changes.inputs == Origin::kInPlace) includeInPlace(*plan, words);
  if (base::logs(base::LogLevel::kInfo)) {
    words.emplace_back(base::logs(base::LogLevel::kDebug) ? "-vv" : "-v");
  }
  words.insert(words.end(), {"--", self});
  for (char** word = argv + 1; *word != nullptr; ++word) words.emplace_back(*word);
  base::logDebug("runs {}", fmt::join(words, " "));
  setenv(kStage, "1", 1);
  const int status = runAndPassSignals(words);
  if (status < 0) {
    return base::systemFailure(*omnio, -status, "cannot run");
  }
  constexpr int kSignal = 128;  // as omnio trace tells it
  if (status <= kSignal) return status;
  // The launcher ends all ranks because of one, which has said why.
  if (status == kSignal + passed_on) return status;
  return base::failure(base::Code::kSystem, "ended by signal {} ({}) on {}; {}", status - kSignal,
                       strsignal(status - kSignal), ownHost(),
                       status - kSignal == SIGKILL ? "the kernel's log there says whether memory "
                                                     "ran out, else a batch system or a user did it"
                                                   : "-vv shows what it did before");
}

}  // namespace omnio::replay
