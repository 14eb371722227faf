// omnio evaluate: from a recording to the answer of a purchase.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/evaluate/evaluation_run.hpp"
#include "cli/output.hpp"
#include "cli/page_file.hpp"
#include "cli/progress_line.hpp"
#include "core/base/document_file.hpp"
#include "core/base/file_system.hpp"
#include "core/base/integers.hpp"
#include "core/base/interruption.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/model/phase_model.hpp"
#include "core/model/schedule_keys.hpp"
#include "ior_bridge/ior/plan_results.hpp"
#include "procurement/candidate_results.hpp"
#include "procurement/comparison.hpp"
#include "procurement/evaluation_plan.hpp"
#include "procurement/form.hpp"
#include "procurement/replay_report.hpp"
#include "replay/target/adopt.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;
using procurement::Criterion;
using procurement::EvaluationPlan;
using procurement::PlannedCandidate;
using procurement::RecordingKind;
using procurement::Runner;

constexpr std::size_t kPhasesShown = 20;

struct EvaluateOptions {
  std::string recording;
  std::vector<std::string> candidates;
  fs::path output;
  std::string by = "replay";
  std::string timing = "dt";
  std::string criterion;  // empty: by the timing
  std::size_t rounds = procurement::Rounds().least;
  std::size_t at_most = procurement::Rounds().most;
  bool no_traces = false;
  int processes = 0;
  std::string launcher;
  std::vector<std::string> launcher_options;
  std::vector<std::string> run_options;
  std::vector<std::string> peaks;
  std::string ranks;
  std::string other_trace;
  std::string scaling;
  std::string assume;
  int projected_from = 0;
  bool resume = false;
  bool dry_run = false;
  bool json = false;
};

base::Failure wrong(std::string_view sentence) {
  return base::failure(base::Code::kInvalid, "{}", sentence);
}

base::Result<RecordingKind> kindOf(const fs::path& recording) {
  std::error_code error;
  if (!fs::exists(recording, error)) {
    return base::failure(base::Code::kNotFound, "{}: no such trace, schedule or phase model",
                         base::printable(recording.native()));
  }
  if (fs::is_directory(recording, error)) {
    const auto trace = tracefile::Trace::open(recording);
    if (!trace) return trace.failure();
    return RecordingKind::kTrace;
  }
  const std::string format = ior::memberOf(recording, "format");
  if (format == model::kPhaseModelFormat) return RecordingKind::kPhaseModel;
  if (format == model::kScheduleFormat) return RecordingKind::kSchedule;
  return base::failure(base::Code::kNotOurs,
                       "{}: neither a trace, nor a schedule, nor a phase model",
                       base::printable(recording.native()));
}

// The directory on a candidate that the runs work in: the candidate's own where it was adopted
// (omnio replay --adopt), else one in it that has a name of its own.
fs::path targetOn(const fs::path& directory, std::uint32_t number) {
  if (replay::isAdopted(directory)) return directory;
  return directory / fmt::format("omnio-evaluate-{:08x}", number);
}

// Results that came back: those in another evaluation, or those that the words name.
base::Result<std::vector<std::string>> resultsOf(const std::string& name,
                                                 const std::string& value) {
  if (procurement::hasPlan(value)) return procurement::resultsIn(value, name);
  std::vector<std::string> results;
  std::error_code error;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t end = std::min(value.find(',', at), value.size());
    const std::string path = value.substr(at, end - at);
    at = end + 1;
    if (path.empty()) continue;
    const bool is_result = fs::is_regular_file(path, error) ||
                           fs::exists(fs::path(path) / "manifest.json", error) ||
                           fs::exists(procurement::reportOf(path), error);
    if (!is_result) return std::vector<std::string>();
    results.push_back(fs::absolute(path, error));
  }
  return results;
}

base::Result<std::vector<PlannedCandidate>> candidatesOf(const std::vector<std::string>& words) {
  std::uint32_t number = 0;
  (void)!getrandom(&number, sizeof number, 0);
  std::vector<PlannedCandidate> candidates;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    PlannedCandidate candidate;
    candidate.name = word.substr(0, equals);
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size() ||
        candidate.name.find_first_not_of(kLetters) != std::string::npos ||
        candidate.name.starts_with('.')) {
      return wrong(
          fmt::format("--on {}: a candidate is given as NAME=DIR or NAME=RESULT, with a name "
                      "of letters, digits, -, _ and .",
                      base::printable(word)));
    }
    if (std::ranges::find(candidates, candidate.name, &PlannedCandidate::name) !=
        candidates.end()) {
      return wrong(fmt::format("--on {}: \"{}\" names two candidates", base::printable(word),
                               candidate.name));
    }
    const std::string value = word.substr(equals + 1);
    base::Result<std::vector<std::string>> results = resultsOf(candidate.name, value);
    if (!results) return results.failure();
    candidate.results = std::move(*results);
    if (!candidate.isElsewhere()) {
      std::error_code error;
      candidate.directory = fs::absolute(value, error).lexically_normal();
      candidate.target = targetOn(candidate.directory, number);
      candidate.mount = base::mountOf(candidate.directory);
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

// --ranks, and the words by which a schedule is scaled.
base::Result<void> takeRanks(const EvaluateOptions& options, EvaluationPlan& plan) {
  const std::string& text = options.ranks;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const auto number = base::wholeNumber<int>(text.substr(at, end - at));
    if (!number || *number < 1) {
      return wrong(fmt::format("--ranks {}: numbers of ranks, with commas between them",
                               base::printable(text)));
    }
    plan.ranks.push_back(*number);
    at = end + 1;
  }
  const bool scales =
      !options.other_trace.empty() || !options.scaling.empty() || !options.assume.empty();
  if (plan.ranks.empty()) {
    return scales ? base::Result<void>(wrong("--and, --scaling and --assume belong to --ranks"))
                  : base::Result<void>();
  }
  if (plan.kind != RecordingKind::kTrace || plan.runner != Runner::kReplay) {
    return wrong("--ranks needs a trace and --by replay: a schedule is scaled from a trace");
  }
  std::error_code error;
  if (!options.other_trace.empty()) {
    plan.scale_words.push_back(fs::absolute(options.other_trace, error).native());
  }
  if (!options.scaling.empty()) plan.scale_words.push_back("--scaling=" + options.scaling);
  if (!options.assume.empty()) plan.scale_words.push_back("--assume=" + options.assume);
  return {};
}

base::Result<EvaluationPlan> planOf(const EvaluateOptions& options) {
  EvaluationPlan plan;
  std::error_code error;
  plan.recording = fs::absolute(options.recording, error).lexically_normal();
  const base::Result<RecordingKind> kind = kindOf(plan.recording);
  if (!kind) return kind.failure();
  plan.kind = *kind;
  plan.runner = *base::valueOf(procurement::kRunners, options.by);
  plan.timing = options.timing;
  const bool is_dt = plan.timing == "dt";
  if (plan.runner == Runner::kPhaseRun && plan.kind == RecordingKind::kSchedule) {
    return wrong("--by phase-run needs a trace or a phase model: a schedule has no phases");
  }
  if (plan.runner == Runner::kPhaseRun && !is_dt) {
    return wrong(
        "--timing asap needs --by replay: the phase runner computes as the application did");
  }
  plan.criterion = is_dt ? Criterion::kIoTime : Criterion::kRunTime;
  if (!options.criterion.empty()) {
    plan.criterion = *base::valueOf(procurement::kCriteria, options.criterion);
  }
  if (plan.criterion == Criterion::kIoTime && !is_dt) {
    return wrong("--criterion io needs --timing dt: in asap calls are not timed one by one");
  }
  if (plan.criterion == Criterion::kRunTime && plan.runner == Runner::kPhaseRun) {
    return wrong("--criterion run needs --by replay: the phase runner has I/O times alone");
  }
  plan.rounds = {.least = options.rounds, .most = std::max(options.rounds, options.at_most)};
  plan.keeps_traces = !options.no_traces;
  plan.processes = options.processes;
  plan.launcher = options.launcher;
  plan.launcher_options = options.launcher_options;
  plan.words = options.run_options;
  plan.projected_from = options.projected_from;
  if (auto taken = takeRanks(options, plan); !taken) return taken.failure();
  base::Result<std::vector<PlannedCandidate>> candidates = candidatesOf(options.candidates);
  if (!candidates) return candidates.failure();
  plan.candidates = std::move(*candidates);
  std::vector<procurement::Candidate> named;  // peaks are looked at before anything runs
  for (const PlannedCandidate& candidate : plan.candidates)
    named.emplace_back().name = candidate.name;
  for (const std::string& peak : options.peaks) {
    if (const auto taken = procurement::takePeak(peak, named); !taken) return taken.failure();
    const std::size_t equals = peak.find('=') + 1;
    const fs::path file = fs::absolute(peak.substr(equals), error);
    plan.peaks.push_back(fs::exists(file, error) ? peak.substr(0, equals) + file.native() : peak);
  }
  if (plan.runner == Runner::kReplay && procurement::scheduleOf(options.output, plan).empty()) {
    return wrong(
        fmt::format("{}: it names no schedule, which a replay needs; --by phase-run runs its "
                    "phases one by one",
                    base::printable(plan.recording.native())));
  }
  return plan;
}

// One evaluation at a time works in a directory. The commands that it runs hold the lock too, so
// that what outlives it for a moment, when it is killed, has ended before another one begins.
class DirectoryLock {
 public:
  // NOLINTNEXTLINE(android-cloexec-open): the commands inherit it
  explicit DirectoryLock(const fs::path& directory)
      : fd_(open(directory.c_str(), O_RDONLY | O_DIRECTORY)) {
    constexpr std::chrono::seconds kPatience(10);
    constexpr std::chrono::milliseconds kPause(100);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (fd_ >= 0 && !(is_held_ = flock(fd_, LOCK_EX | LOCK_NB) == 0) &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kPause);
    }
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock() {
    if (fd_ >= 0) close(fd_);
  }
  bool isHeld() const { return is_held_; }

 private:
  int fd_;
  bool is_held_ = false;
};

std::string needsText(const std::vector<RunNeeds>& needs, const EvaluationPlan& plan) {
  std::vector<std::vector<std::string>> table = {{"candidate", "needs", "free", "a run takes", ""}};
  double expected_s = 0;
  for (const RunNeeds& each : needs) {
    const double seconds = static_cast<double>(each.expected_ns) / procurement::kNsInSecond;
    expected_s += seconds;
    table.push_back(
        {each.candidate, base::humanBytes(static_cast<double>(each.needed_bytes)),
         each.free_bytes ? base::humanBytes(static_cast<double>(*each.free_bytes)) : "-",
         base::humanNs(static_cast<double>(each.expected_ns)), ""});
  }
  std::string text;
  base::appendTable(text, table, base::Align::kRight);
  const auto all = [&](std::size_t rounds) {
    return base::humanNs(expected_s * static_cast<double>(rounds) * procurement::kNsInSecond);
  };
  text += fmt::format(
      "{} to {} rounds: {} to {} with storage as fast as in the recording, and the time to prepare "
      "the files of each run; nothing was run\n",
      plan.rounds.least, plan.rounds.most, all(plan.rounds.least), all(plan.rounds.most));
  return text;
}

// The answer, in all its forms.
struct Answer {
  std::string text;
  std::string json;
  std::string page_data;
  std::string form;  // CSV
};

Answer answerOf(const EvaluateOptions& options, const EvaluationPlan& plan,
                const procurement::Comparison& comparison, const std::string& projections = {}) {
  const procurement::PageAbout about = {
      .made = timeNow(),
      .version = OMNIO_VERSION,
      .model = plan.recording.native(),
      .all_command = shellLine({"omnio", "evaluate", "-o", options.output, "--resume", "--json"}),
      .notes = procurement::sharedMounts(plan),
      .projections = projections};
  Answer answer = {.text = fmt::format("{}\n\n{}", procurement::verdictOf(comparison),
                                       procurement::textOf(comparison, kPhasesShown)),
                   .json = procurement::jsonOf(comparison),
                   .page_data = procurement::pageDataOf(comparison, about),
                   .form = procurement::csvOf(procurement::formOf(comparison))};
  for (const std::string& sentence : about.notes) answer.text += sentence + '\n';
  return answer;
}

base::Result<void> write(const fs::path& directory, const Answer& answer) {
  const fs::path page = directory / "evaluation.html";
  const auto paged = writePage(page, report::PageKind::kComparison, answer.page_data);
  if (!paged) return paged.failure();
  auto written = base::writeDocument(directory / kAnswerName, answer.json);
  if (written) written = base::writeDocument(directory / "answer.txt", answer.text);
  if (written) written = base::writeDocument(directory / "form.csv", answer.form);
  if (written) printNote(fmt::format("the page is {}", base::printable(page.native())));
  return written;
}

// Everything but the options.
int evaluate(const EvaluateOptions& options, const EvaluationPlan& plan) {
  EvaluationRun run(options.output, plan);
  const std::string go_on = fmt::format("; `omnio evaluate -o {} --resume` goes on",
                                        base::shellWord(base::printable(options.output.native())));
  const auto ended = [&](const base::Failure& failure) {
    if (run.stoppedBy() != 0) {
      printFailure(fmt::format("interrupted by {}{}", base::signalName(run.stoppedBy()), go_on));
      base::endBySignal(run.stoppedBy());
    }
    return fail({failure.code, failure.sentence + go_on});
  };
  if (const auto made = run.makeDocuments(); !made) return ended(made.failure());
  if (const auto fit = run.checkElsewhere(); !fit) return fail(fit.failure());
  const base::Result<std::vector<RunNeeds>> needs = run.lookAhead();
  if (!needs) return ended(needs.failure());
  if (options.dry_run) return printAll(needsText(*needs, plan));
  if (const auto done = run.runRounds(); !done) return ended(done.failure());
  const ProgressLine progress;
  const base::Result<procurement::Comparison> comparison = run.compared();
  if (!comparison) return ended(comparison.failure());
  run.removeData();
  Answer answer = answerOf(options, plan, *comparison);
  if (const auto written = write(options.output, answer); !written) return fail(written.failure());
  if (!plan.ranks.empty()) {
    const auto projections = run.project();
    if (!projections) return ended(projections.failure());
    const std::string json = procurement::jsonOf(*projections);
    answer = answerOf(options, plan, *comparison, json);
    answer.text += procurement::textOf(*projections);
    auto written = base::writeDocument(options.output / "projections.json", json);
    if (written) written = write(options.output, answer);
    if (!written) return fail(written.failure());
  }
  return options.json ? printJson(answer.json) : printAll(answer.text);
}

int runEvaluate(EvaluateOptions options) {
  std::error_code error;
  options.output = fs::absolute(options.output, error).lexically_normal();
  if (!options.output.has_filename()) options.output = options.output.parent_path();
  if (options.resume) {
    if (!options.recording.empty() || !options.candidates.empty()) {
      return fail(
          wrong("--resume goes on as the evaluation began: it takes no RECORDING and no --on"),
          kWrongUsage);
    }
    const DirectoryLock lock(options.output);
    const base::Result<EvaluationPlan> plan = procurement::readPlan(options.output);
    if (!plan) return fail(plan.failure());
    if (!lock.isHeld()) {
      return fail(wrong(fmt::format("{}: an evaluation works there at this moment",
                                    base::printable(options.output.native()))));
    }
    if (const auto fit = procurement::checkPlaces(*plan, options.output); !fit) {
      return fail(fit.failure());
    }
    return evaluate(options, *plan);
  }
  if (options.recording.empty()) base::refuseMissing("RECORDING");
  if (options.candidates.empty()) base::refuseMissing("--on");
  const base::Result<EvaluationPlan> plan = planOf(options);
  if (!plan) return fail(plan.failure(), kWrongUsage);
  if (const auto fit = procurement::checkPlaces(*plan, options.output); !fit) {
    return fail(fit.failure());
  }
  if (fs::exists(options.output, error) && !fs::is_empty(options.output, error)) {
    return fail(wrong(fmt::format(
        "{}: {}", base::printable(options.output.native()),
        procurement::hasPlan(options.output)
            ? "an evaluation is there: --resume goes on with it, or name another directory"
            : "not an empty directory: name another")));
  }
  fs::create_directories(options.output, error);
  if (error) return fail(base::systemFailure(options.output, error.value(), "cannot create"));
  const DirectoryLock lock(options.output);
  if (const auto written = procurement::writePlan(options.output, *plan); !written) {
    return fail(written.failure());
  }
  for (const std::string& sentence : procurement::sharedMounts(*plan)) printNote(sentence);
  const int status = evaluate(options, *plan);
  if (options.dry_run) fs::remove_all(options.output, error);
  return status;
}

}  // namespace

void addEvaluateCommand(base::Command program) {
  constexpr std::uint64_t kMost = 1000;
  const auto options = std::make_shared<EvaluateOptions>();
  const base::Command command = program.subcommand(
      "evaluate", "From a recording to the answer: which candidate is the fastest for it");
  command.option("RECORDING", options->recording, "A trace, a schedule or a phase model");
  command
      .option("--on", options->candidates,
              "NAME=DIR: a candidate, and a directory on it; or NAME=RESULT: its results that came "
              "back, as the directory of an evaluation or as files; once for each candidate")
      .repeatable();
  command
      .option("-o,--output", options->output,
              "The directory of the evaluation: all runs, the answer and its evidence")
      .typeName("OUT")
      .required();
  command.option("--by", options->by, "Who makes the I/O again")
      .oneOf({"replay", "phase-run"})
      .showDefault();
  command
      .option("--timing", options->timing,
              "dt: with the application's own work between its calls; asap: without, for the limit")
      .oneOf({"dt", "asap"})
      .showDefault();
  command
      .option(
          "--criterion", options->criterion,
          "The time that decides: io, the I/O time (with dt), or run, the run time with what is "
          "written back at its end (with asap)")
      .oneOf({"io", "run"});
  command
      .option("--rounds", options->rounds, "Rounds at the least: each is a run on each candidate")
      .between(2, kMost)
      .showDefault();
  command.option("--at-most", options->at_most, "Rounds at the most, while there is not a winner")
      .between(2, kMost)
      .showDefault();
  command.flag("--no-traces", options->no_traces,
               "Keep the reports of replays without their traces");
  command
      .option("-n,--processes", options->processes,
              "Processes of a run (default: one for each recorded rank)")
      .between(1, 10000000);
  command
      .option("--launcher", options->launcher, "Instead of `mpirun -n N`, in words: \"srun -n 4\"")
      .typeName("WORDS");
  command
      .option("--mpi-option", options->launcher_options,
              "A word for the launcher; may be given more than once")
      .typeName("WORD")
      .repeatable();
  command
      .option(
          "--run-option", options->run_options,
          "A word for omnio replay or omnio-phase-run, as --run-option=--cache=warm; may be given "
          "more than once")
      .typeName("WORD")
      .repeatable();
  command
      .option("--ranks", options->ranks,
              "N,M: evaluate the trace scaled to these numbers of ranks too, as projections")
      .typeName("N,M");
  command
      .option("--and", options->other_trace,
              "With --ranks: a trace of the same program at another number of ranks")
      .typeName("TRACE");
  command
      .option("--projected-from", options->projected_from,
              "The schedule was scaled from so many recorded ranks")
      .between(1, 10000000)
      .hidden();
  command.option("--scaling", options->scaling, "With --ranks: as of omnio preprocess")
      .oneOf({"weak", "strong"});
  command.option("--assume", options->assume, "With --ranks: as of omnio preprocess")
      .oneOf({"strided-by-ranks", "constant"});
  command
      .option(
          "--peak", options->peaks,
          "NAME=WRITE,READ: what a candidate can do at most, in MiB/s; or NAME=FILE, the peak.json "
          "of omnio ior --peak; may be given more than once")
      .repeatable();
  command.flag("--resume", options->resume, "Go on with the evaluation in OUT, which was ended");
  command.flag("--dry-run", options->dry_run, "Say which room and time it takes, and run nothing");
  command.flag("--json", options->json, "Print a JSON document instead of tables");
  command.callback([options] { return runEvaluate(*options); });
}

}  // namespace omnio::cli
