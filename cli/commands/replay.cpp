// omnio replay: starts the MPI program omnio-replay with the launcher that there is.
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/trace/child.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/printable.hpp"
#include "core/model/schedule_keys.hpp"
#include "replay/launch.hpp"
#include "replay/plan/compile.hpp"
#include "replay/report.hpp"
#include "replay/target/tree.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;

struct ReplayOptions : replay::RequestOptions {
  std::string launcher;
  std::vector<std::string> launcher_options;
  int processes = 0;  // 0: one for each recorded rank
};

int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// mpirun knows options that its likes do not: it is asked who it is.
bool isOpenMpi(const std::string& launcher) {
  FILE* pipe = popen((launcher + " --version 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return false;
  std::string text;
  char part[256];
  while (const std::size_t bytes = fread(part, 1, sizeof part, pipe)) text.append(part, bytes);
  pclose(pipe);
  return text.find("Open MPI") != std::string::npos || text.find("OpenRTE") != std::string::npos;
}

std::vector<std::string> launcherWords(const ReplayOptions& options, int processes) {
  std::vector<std::string> words;
  if (!options.launcher.empty()) {
    std::istringstream split(options.launcher);
    for (std::string word; split >> word;) words.push_back(word);
  } else {
    words = {"mpirun"};
    if (isOpenMpi("mpirun")) {
      // Recorded threads of a rank are threads here too: bound to one processor they would wait for
      // each other.
      words.insert(words.end(), {"--bind-to", "none"});
      if (processes > processors()) words.emplace_back("--oversubscribe");
      if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
    }
    words.insert(words.end(), {"-n", std::to_string(processes)});
  }
  words.insert(words.end(), options.launcher_options.begin(), options.launcher_options.end());
  return words;
}

int statusOf(const fs::path& path) {
  base::JsonReader in(path, base::kMostBytesHeld);
  const base::JsonNode report = in.value();
  if (const auto read = in.finish(); !read) return fail(read.failure());
  const base::JsonNode* total = report.find("total");
  const base::JsonNode* count = total == nullptr ? nullptr : total->find("differences");
  return count != nullptr && count->number().value_or(0) > 0 ? kDifferences : kDone;
}

// Where the launcher's own words go until it is known whether they are wanted: what omnio says in a
// sentence, a launcher says again in many.
class LauncherWords {
 public:
  LauncherWords() : fd_(memfd_create("omnio launcher", MFD_CLOEXEC)) {}
  LauncherWords(const LauncherWords&) = delete;
  LauncherWords& operator=(const LauncherWords&) = delete;
  ~LauncherWords() {
    if (fd_ >= 0) close(fd_);
  }
  // -1 without such memory: the launcher then writes to stderr at once.
  int fd() const { return fd_; }
  void pass() const {
    if (fd_ < 0) return;
    char part[4096];
    off_t at = 0;
    for (ssize_t bytes = 0; (bytes = pread(fd_, part, sizeof part, at)) > 0; at += bytes) {
      fwrite(part, 1, static_cast<std::size_t>(bytes), stderr);
    }
  }

 private:
  int fd_;
};

int runReplay(ReplayOptions options) {
  options.complete();
  const replay::Request& request = options.request;
  const base::Result<fs::path> program = replay::programBeside(
      "omnio-replay", "replay", "", " (omnio may have been built without MPI)");
  if (!program) return fail(program.failure());
  // All that can be refused is refused here, before a launcher adds its own lines to the sentence.
  const auto output = replay::checkOutput(request);
  if (!output) return fail(output.failure());
  const auto target = replay::checkTarget(request.target, request.fresh);
  if (!target) return fail(target.failure());
  const fs::path programs = replay::programsIn(request.output);
  const base::Result<replay::Plan> plan =
      replay::compileSchedule(request.schedule, programs, request.timing);
  if (!plan) return fail(plan.failure());
  const int processes =
      options.processes > 0 ? options.processes : std::max(1, static_cast<int>(plan->ranks.size()));

  std::vector<std::string> words = launcherWords(options, processes);
  words.insert(words.end(),
               {program->native(), request.schedule.native(), "--compiled", "--target",
                request.target.native(), "-o", request.output.native(), "--cache", options.cache});
  if (request.fresh) words.emplace_back("--fresh");
  if (options.no_trace) words.emplace_back("--no-trace");
  if (!request.omnio.empty()) words.insert(words.end(), {"--omnio", request.omnio.native()});
  const LauncherWords launcher_words;
  const ChildEnd end = runChild(words, 0, launcher_words.fd());
  const std::optional<std::string> failed = replay::failureSaid(request.output);
  const std::optional<std::string> shown = replay::reportSaid(request.output);
  if (end.start_error != 0) {
    fail(base::systemFailure(words.front(), end.start_error, "cannot run"));
  }
  std::error_code error;
  fs::remove_all(programs, error);
  fs::remove(request.output, error);  // if nothing else is in it
  if (failed) {
    printFailure(*failed);
    return kFailed;
  }
  launcher_words.pass();
  if (end.exitCode() != kDone) return kFailed;
  const int status = statusOf(request.output / replay::kReportName);
  const int printed = printAll(shown.value_or(""));
  return printed != kDone ? printed : status;
}

}  // namespace

void addReplayCommand(base::Command program) {
  const auto options = std::make_shared<ReplayOptions>();
  const base::Command command =
      program.subcommand("replay", "Replay a schedule on a target directory, with mpirun");
  options->addTo(command);
  command
      .option("-n,--processes", options->processes,
              "Processes to replay with (default: one for each recorded rank)")
      .positive();
  command
      .option("--launcher", options->launcher, "Instead of `mpirun -n N`, in words: \"srun -n 4\"")
      .typeName("WORDS");
  command
      .option("--mpi-option", options->launcher_options,
              "A word for the launcher; may be given more than once")
      .typeName("WORD")
      .repeatable();
  command.callback([options] { return runReplay(*options); });
}

}  // namespace omnio::cli
