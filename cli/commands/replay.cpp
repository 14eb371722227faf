// omnio replay: starts the MPI program omnio-replay with the launcher that there is.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/launcher.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "cli/trace/child.hpp"
#include "core/base/document_file.hpp"
#include "core/base/integers.hpp"
#include "core/base/interruption.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/log.hpp"
#include "core/base/printable.hpp"
#include "core/base/threads.hpp"
#include "core/model/schedule_keys.hpp"
#include "logging/logging.hpp"
#include "replay/dry_run.hpp"
#include "replay/launch.hpp"
#include "replay/life_line.hpp"
#include "replay/plan/compile.hpp"
#include "replay/report.hpp"
#include "replay/target/adopt.hpp"
#include "replay/target/memory.hpp"
#include "replay/target/sources.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;

struct ReplayOptions : replay::RequestOptions {
  std::string launcher;
  std::vector<std::string> launcher_options;
  int processes = 0;  // 0: one for each recorded rank
  int repeat = 1;
  bool dry_run = false;
  bool json = false;
  fs::path adopted;      // do nothing but adopt this target
  bool is_told = false;  // what the schedule lacks, and which targets are not used
};

int statusOf(const replay::Request& request) {
  base::JsonReader in(request.output / replay::kReportName, base::kMostBytesHeld);
  const base::JsonNode report = in.value();
  if (const auto read = in.finish(); !read) return fail(read.failure());
  const auto number = [](const base::JsonNode* node, const char* key) {
    const base::JsonNode* found = node == nullptr ? nullptr : node->find(key);
    return found == nullptr ? 0 : static_cast<std::int64_t>(found->number().value_or(0));
  };
  const base::JsonNode* late = report.find(replay::kLateKey);
  const bool is_late =
      request.late_limit && late != nullptr && late->as<bool>() != nullptr && *late->as<bool>();
  if (is_late) {
    printFailure(replay::lateSentence(request.output.native(), number(&report, "stretch_ns"),
                                      number(&report, "makespan_ns"), *request.late_limit));
  }
  return is_late || number(report.find("total"), "differences") > 0 ? kDifferences : kDone;
}

// Where what the launcher itself prints goes until it is known whether it is wanted: what omnio
// says in a sentence, a launcher says again in many.
class LauncherWords {
 public:
  LauncherWords() : fd_(memfd_create("omnio launcher", MFD_CLOEXEC)) {}
  LauncherWords(const LauncherWords&) = delete;
  LauncherWords& operator=(const LauncherWords&) = delete;
  ~LauncherWords() {
    if (fd_ >= 0) close(fd_);
  }
  // -1 without such memory: the launcher then prints at once.
  int fd() const { return fd_; }
  void passTo(std::FILE* stream) const {
    const std::string all = text();
    fwrite(all.data(), 1, all.size(), stream);
  }
  std::string text() const {
    std::string all;
    char part[4096];
    ssize_t bytes = 0;
    while (fd_ >= 0 &&
           (bytes = pread(fd_, part, sizeof part, static_cast<off_t>(all.size()))) > 0) {
      all.append(part, static_cast<std::size_t>(bytes));
    }
    return all;
  }

 private:
  int fd_;
};

// Prints what ranks log while they run, whole lines of one rank at a time.
class RankLogs {
 public:
  explicit RankLogs(fs::path folder) : folder_(std::move(folder)) {
    if (base::logLevel() == base::LogLevel::kOff) return;
    const base::SignalsBlocked blocked;
    thread_ = std::thread([this] {
      std::unique_lock lock(mutex_);
      while (!is_over_) {
        over_.wait_for(lock, std::chrono::milliseconds(100));
        print();
      }
    });
  }
  RankLogs(const RankLogs&) = delete;
  RankLogs& operator=(const RankLogs&) = delete;
  ~RankLogs() { finish(); }

  // Prints the rest.
  void finish() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    over_.notify_all();
    thread_.join();
  }

 private:
  void print() {
    std::error_code error;
    for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string name = entry->path().filename();
      if (!name.starts_with(replay::kRankLog)) continue;
      std::uint64_t& printed = printed_[name];
      std::ifstream in(entry->path());
      in.seekg(static_cast<std::streamoff>(printed));
      std::string lines{std::istreambuf_iterator<char>(in), {}};
      lines.resize(lines.rfind('\n') + 1);  // npos + 1: none is whole yet
      printed += lines.size();
      if (!lines.empty()) (void)!write(STDERR_FILENO, lines.data(), lines.size());
    }
  }

  const fs::path folder_;
  std::map<std::string, std::uint64_t> printed_;  // bytes, by name
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

// The other end of the life line that the ranks watch, if there is one (replay/life_line.hpp): it
// is closed when this process ends, however it ends.
class LifeLine {
 public:
  LifeLine() {
    int ends[2];
    // Without descriptors for it, launchers have nothing to read.
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    input_ = ends[0];
    own_ = ends[1];
    const std::string_view greeting = replay::kLifeLineGreeting;
    (void)!write(own_, greeting.data(), greeting.size());
  }
  LifeLine(const LifeLine&) = delete;
  LifeLine& operator=(const LifeLine&) = delete;
  ~LifeLine() {
    if (input_ >= 0) close(input_);
    if (own_ >= 0) close(own_);
  }
  int input() const { return input_; }  // of the launcher

 private:
  int input_ = -1;
  int own_ = -1;
};

// Says what is kept of a replay that was interrupted, and ends as what ^C ends.
[[noreturn]] void endInterrupted(const replay::Request& request, const replay::Plan& plan,
                                 int signal) {
  std::error_code error;
  std::string text = fmt::format("interrupted by {}", base::signalName(signal));
  if (request.trace && fs::exists(request.output, error) && !fs::is_empty(request.output, error)) {
    text += fmt::format("; the trace of the replay so far is in {}",
                        base::printable(request.output.native()));
  } else {
    text += "; it has no trace";
  }
  std::vector<std::string> trees;
  for (const replay::Target& target : request.targets) {
    const fs::path tree = target.directory / replay::kTreeName;
    if (fs::exists(tree, error)) trees.push_back(base::printable(tree.native()));
  }
  if (replay::usesNodeTree(request.node_local, plan)) {
    const fs::path tree = request.node_local / replay::kTreeName;
    trees.push_back(fmt::format("{} of its nodes", base::printable(tree.native())));
  }
  if (!trees.empty()) {
    text += fmt::format(", and its files are in {}", fmt::join(trees, " and "));
  }
  printFailure(text);
  base::endBySignal(signal);
}

// The line of a launcher's words that says most: one about a signal, else the first that has
// letters.
std::string tellingLine(const std::string& words) {
  std::istringstream lines(words);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("on signal ") != std::string::npos) return base::safeText(line);
    const bool has_letters =
        std::ranges::any_of(line, [](unsigned char c) { return std::isalpha(c) != 0; });
    if (first.empty() && has_letters) first = line;
  }
  return base::safeText(first);
}

// The words of a launcher that failed, for when no rank has said why.
std::string launcherSentence(const std::string& launcher, const ChildEnd& end,
                             const std::string& words) {
  std::string how = end.signal != 0 ? fmt::format("ended by signal {}", end.signal)
                                    : fmt::format("ended with status {}", end.status);
  if (end.was_over) how = "did not end though its processes had, and was ended";
  std::string text =
      fmt::format("{}: {} before the replay had a report", base::printable(launcher), how);
  std::string line = tellingLine(words);
  while (line.ends_with('.')) line.pop_back();
  if (!line.empty()) text += fmt::format(": {}", line);
  if (end.was_over) text += "; start the replay again";
  return text + "; -vv shows all that it said and what the ranks did";
}

// How long a launcher may go on when a rank has said why the replay fails, or when none is left.
// Open MPI's (4.1.4) does so for ever where a rank ended while others began. For tests, what
// OMNIO_REPLAY_LAUNCHER_PATIENCE says, in milliseconds.
std::chrono::milliseconds launcherPatience() {
  const char* const text = std::getenv("OMNIO_REPLAY_LAUNCHER_PATIENCE");
  const auto number = base::wholeNumber<std::uint32_t>(text == nullptr ? "" : text);
  return number ? std::chrono::milliseconds(*number) : ChildSettings{}.patience;
}

base::Result<fs::path> findReplayer() {
  return replay::programBeside("omnio-replay", "replay", "",
                               " (omnio may have been built without MPI)");
}

// `held`: signals wait while nothing would say what they left. They do when it returns.
int replayOnce(const ReplayOptions& options, std::optional<base::StopsHeld>& held) {
  const replay::Request& request = options.request;
  if (!held) held.emplace();
  const base::Result<fs::path> program = findReplayer();
  if (!program) return fail(program.failure());
  // All that can be refused is refused here, before a launcher adds its own lines to the sentence.
  if (const auto fit = replay::checkDirectories(request); !fit) return fail(fit.failure());
  const fs::path programs = replay::programsIn(request.output);
  std::error_code ignored;
  const bool output_was_there = fs::exists(request.output, ignored);
  std::optional<base::Interruption> interruption(
      std::in_place, "omnio", " before the replay began; nothing that was made for it is left");
  // In this order: one lies in the other.
  const base::RemovedIfInterrupted programs_removed(programs, base::Removal::kWithFiles);
  std::optional<base::RemovedIfInterrupted> output_removed;
  if (!output_was_there) output_removed.emplace(request.output);
  const base::RemovedIfInterrupted repeats_removed(options.repeat > 1 ? request.output.parent_path()
                                                                      : request.output);
  const std::vector<fs::path> missing = replay::missingAbove(request.output);
  std::deque<base::RemovedIfInterrupted> missing_removed;
  for (const fs::path& directory : missing) missing_removed.emplace_back(directory);
  held.reset();
  const base::Result<replay::Plan> plan =
      replay::compileSchedule(request.schedule, programs, request.changes);
  std::error_code error;
  const auto remove_programs = [&] {
    fs::remove_all(programs, error);
    if (!output_was_there) fs::remove(request.output, error);  // if nothing else is in it
    replay::removeEmpty(missing);
  };
  if (!plan) {
    remove_programs();
    return fail(plan.failure());
  }
  auto fits = replay::checkSources(*plan, request.targets, request.node_local);
  if (fits) fits = replay::checkNamesForMpi(request, *plan);
  if (fits) fits = replay::checkTargetRoom(request, *plan);
  if (!fits) {
    remove_programs();
    return fail(fits.failure());
  }
  const bool lacks_data = !request.partial && !plan->global.source_whole;
  if (lacks_data && !options.is_told) {
    printFailure(replay::lackSentence(request.schedule, plan->global));
  }
  for (const std::string& sentence :
       replay::unusedTargets(request.targets, request.node_local, *plan)) {
    if (!options.is_told) printFailure(sentence);
  }
  const int processes =
      options.processes > 0 ? options.processes : std::max(1, static_cast<int>(plan->ranks.size()));
  if (const auto fit = replay::checkDescriptors(request, *plan, processes); !fit) {
    remove_programs();
    return fail(fit.failure());
  }

  if (options.launcher.empty()) {  // else the launcher alone knows how many there will be
    const auto enough = replay::checkProcesses(*plan, processes);
    if (!enough) {
      remove_programs();
      return fail(enough.failure());
    }
  }
  std::vector<std::string> words =
      launcherWords(options.launcher, options.launcher_options, processes);
  words.insert(words.end(), {program->native(), request.schedule.native(), "--compiled", "-o",
                             request.output.native()});
  const std::vector<std::string> more = options.words();
  words.insert(words.end(), more.begin(), more.end());
  const LauncherWords launcher_output;
  const LauncherWords launcher_words;
  const LifeLine life_line;
  RankLogs rank_logs(programs);
  base::logInfo("starts {}", fmt::join(words, " "));
  held.emplace();
  interruption.reset();
  const ChildEnd end =
      runChild(words, {.apart = true,
                       .input = life_line.input(),
                       .output = launcher_output.fd(),
                       .error_output = launcher_words.fd(),
                       .mask = &held->before(),
                       .is_over = [&] { return replay::failureSaid(request.output).has_value(); },
                       .patience = launcherPatience()});
  replay::removeLeftInMemory();  // where it was ended before it could
  rank_logs.finish();
  base::logInfo("{} ended with status {}", words.front(), end.exitCode());
  std::istringstream said(launcher_output.text() + launcher_words.text());
  for (std::string line; base::logs(base::LogLevel::kDebug) && std::getline(said, line);) {
    base::logDebug("{} said: {}", words.front(), line);
  }
  const std::optional<std::string> failed = replay::failureSaid(request.output);
  const std::optional<std::string> shown = replay::reportSaid(request.output);
  remove_programs();
  if (end.start_error != 0) {
    base::Failure failure = base::systemFailure(words.front(), end.start_error, "cannot run");
    failure.sentence += "; install an MPI launcher, or name the one that there is with --launcher";
    return fail(failure);
  }
  if (end.stopped_by != 0) endInterrupted(request, *plan, end.stopped_by);
  if (failed) {
    printFailure(*failed);
    return kFailed;
  }
  if (end.exitCode() != kDone) {
    printFailure(
        launcherSentence(words.front(), end, launcher_words.text() + launcher_output.text()));
    return kFailed;
  }
  launcher_output.passTo(stdout);
  launcher_words.passTo(stderr);
  int status = statusOf(request);
  if (lacks_data && status == kDone) status = kDifferences;
  const int printed = printAll(shown.value_or(""));
  return printed != kDone ? printed : status;
}

// The middle of an odd number of values, and the mean of the two in the middle of an even one.
std::int64_t medianOf(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : values[half - 1] / 2 + values[half] / 2;
}

// Each replay has a fresh tree, and a directory of its own in the output, by its number.
int replayOften(const ReplayOptions& options) {
  const replay::Request& request = options.request;
  if (const auto fit = replay::checkDirectories(request); !fit) return fail(fit.failure());
  std::vector<std::int64_t> makespans;
  int status = kDone;
  const std::vector<fs::path> missing = replay::missingAbove(request.output);
  std::optional<base::StopsHeld> held(std::in_place);
  for (int i = 1; i <= options.repeat; ++i) {
    ReplayOptions once = options;
    once.request.output = request.output / std::to_string(i);
    once.request.fresh = request.fresh || i > 1;
    once.is_told = i > 1;
    std::error_code error;
    fs::create_directories(request.output, error);
    if (error) return fail(base::systemFailure(request.output, error.value(), "cannot create"));
    const int ended = replayOnce(once, held);
    if (ended != kDone && ended != kDifferences) {
      fs::remove(request.output, error);  // if nothing is in it
      replay::removeEmpty(missing);
      return ended;
    }
    status = std::max(status, ended);
    base::JsonReader in(once.request.output / replay::kReportName, base::kMostBytesHeld);
    const base::JsonNode report = in.value();
    if (const auto read = in.finish(); !read) return fail(read.failure());
    const base::JsonNode* makespan = report.find("makespan_ns");
    makespans.push_back(
        makespan == nullptr ? 0 : static_cast<std::int64_t>(makespan->number().value_or(0)));
  }
  const auto [least, most] = std::minmax_element(makespans.begin(), makespans.end());
  const std::int64_t median = medianOf(makespans);
  const base::JsonLayout layout{.indent = 1, .lists_on_one_line = true};
  const std::string document =
      base::jsonDocument("omnio-replay-repeats", 1, layout, [&](auto& json) {
        json.put("makespan_ns", makespans);
        json.put("median_ns", median);
        json.put("least_ns", *least);
        json.put("most_ns", *most);
      });
  const auto written = base::writeDocument(request.output / "repeats.json", document);
  if (!written) return fail(written.failure());
  const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) / 1e9; };
  const int printed = printAll(fmt::format(
      "\nMakespan of {} replays: median {:.3f} s, {:.3f} to {:.3f} s (spread {:.1f} %)\n",
      makespans.size(), seconds(median), seconds(*least), seconds(*most),
      median == 0 ? 0.0 : 100 * seconds(*most - *least) / seconds(median)));
  return printed != kDone ? printed : status;
}

// The number that a launcher is given as its -n; 0 where it is not found.
int processesIn(const std::string& launcher) {
  std::istringstream words(launcher);
  std::string before;
  for (std::string word; words >> word; before = word) {
    constexpr std::string_view kLong = "--ntasks=";
    const bool is_number = before == "-n" || before == "-np" || before == "--ntasks";
    if (!is_number && !word.starts_with(kLong)) continue;
    const auto number = base::wholeNumber<int>(is_number ? word : word.substr(kLong.size()));
    if (number && *number > 0) return *number;
  }
  return 0;
}

// Whether a launcher has no way to know of other nodes than this one.
bool startsHere(const ReplayOptions& options) {
  constexpr const char* kOfSchedulers[] = {"SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS",
                                           "PE_HOSTFILE"};
  return options.launcher.empty() && options.launcher_options.empty() &&
         std::ranges::none_of(kOfSchedulers,
                              [](const char* name) { return std::getenv(name) != nullptr; });
}

int runDry(const ReplayOptions& options) {
  const replay::Request& request = options.request;
  if (const auto program = findReplayer(); !program) return fail(program.failure());
  const ProgressLine progress;
  // A launcher is given its own number, whatever -n says.
  replay::Launch launch{.processes = processesIn(options.launcher),
                        .one_node = startsHere(options)};
  if (launch.processes == 0) launch.processes = options.processes;
  const base::Result<replay::DryRun> dry = replay::dryRun(request, launch);
  if (!dry) return fail(dry.failure());
  const bool lacks_data = !request.partial && !dry->overview.plan.global.source_whole;
  if (lacks_data) {
    printFailure(replay::lackSentence(request.schedule, dry->overview.plan.global));
  }
  for (const std::string& sentence :
       replay::unusedTargets(request.targets, request.node_local, dry->overview.plan)) {
    printFailure(sentence);
  }
  const int printed = options.json ? printJson(replay::jsonOf(*dry)) : printAll(textOf(*dry));
  if (printed != kDone) return printed;
  return lacks_data ? kDifferences : kDone;
}

int adopt(const fs::path& directory) {
  const fs::path target = replay::wholePath(directory);
  const base::Result<replay::Adoption> adoption = replay::adoptTarget(target);
  if (!adoption) return fail(adoption.failure());
  const std::string name = base::printable(target.native());
  std::string text = adoption->was_adopted ? fmt::format("{} was adopted before\n", name)
                                           : fmt::format("{} is adopted: {} is written there\n",
                                                         name, replay::kAdoptedMarker);
  text += adoption->has_tree
              ? fmt::format("Replays keep {} in its {}, and remove files there with --fresh\n",
                            base::counted(adoption->directories, "directory", "directories"),
                            replay::kTreeName)
              : fmt::format("It has no {} yet: the first replay makes it\n", replay::kTreeName);
  return printAll(text);
}

int runReplay(ReplayOptions options) {
  logging::start({.level = options.logLevel(), .program = "omnio replay"});
  if (!options.adopted.empty()) {
    const replay::Request& request = options.request;
    const bool is_alone = request.schedule.empty() && options.targets.empty() &&
                          request.node_local.empty() && request.output.empty() && !request.fresh &&
                          !options.dry_run && !options.json;
    if (is_alone) return adopt(options.adopted);
    return fail({base::Code::kInvalid,
                 "--adopt takes no SCHEDULE and no other option: it adopts the "
                 "directory, and does nothing else"},
                kWrongUsage);
  }
  if (options.request.schedule.empty()) base::refuseMissing("SCHEDULE");
  if (const auto completed = options.complete(); !completed) {
    return fail(completed.failure(), kWrongUsage);
  }
  if (options.dry_run) return runDry(options);
  if (options.json) {
    return fail({base::Code::kInvalid,
                 "--json needs --dry-run; a replay writes its report to "
                 "replay.json"},
                kWrongUsage);
  }
  if (options.repeat > 1) return replayOften(options);
  std::optional<base::StopsHeld> held;
  return replayOnce(options, held);
}

}  // namespace

void addReplayCommand(base::Command program) {
  constexpr std::uint64_t kMost = 10000000;  // processes, replays
  const auto options = std::make_shared<ReplayOptions>();
  const base::Command command =
      program.subcommand("replay", "Replay a schedule on a target directory, with mpirun");
  constexpr bool kIsRequired = false;  // not with --adopt
  options->addTo(command, kIsRequired);
  command
      .option("-n,--processes", options->processes,
              "Processes to replay with (default: one for each recorded rank)")
      .between(1, kMost);
  command
      .option("--repeat", options->repeat,
              "Replay so often, each time in a fresh tree; the median and the spread are told")
      .between(1, kMost)
      .showDefault();
  command
      .option(
          "--adopt", options->adopted,
          "Allow replays to work in DIR, which was made by hand, and to keep the directories of "
          "DIR/tree; do nothing else")
      .typeName("DIR");
  command
      .option("--launcher", options->launcher, "Instead of `mpirun -n N`, in words: \"srun -n 4\"")
      .typeName("WORDS");
  command
      .option("--mpi-option", options->launcher_options,
              "A word for the launcher; may be given more than once")
      .typeName("WORD")
      .repeatable();
  command.flag("--dry-run", options->dry_run, "Say what a replay would do, and do nothing");
  command.flag("--json", options->json, "With --dry-run: a JSON document instead of text");
  command.addExitStatus(
      fmt::format("{}", kDifferences),
      "done, but results of calls differ from the recording, the schedule lacks data, or the "
      "replay was later than --late-limit");
  command.callback([options] { return runReplay(*options); });
}

}  // namespace omnio::cli
