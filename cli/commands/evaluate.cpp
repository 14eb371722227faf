// omnio evaluate: from a recording to the answer of a purchase.
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
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
// Options of a run that follow from the plan.
constexpr std::string_view kOwnRunOptions[] = {
    "--target", "-o",         "--output",     "--timing", "--fresh", "--repeat",       "--dry-run",
    "--json",   "--no-trace", "--iterations", "--apart",  "--phase", "--beyond-cache", "--keep"};

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
  // Options that belong to the plan, which --resume does not change.
  std::vector<std::pair<std::string, base::OptionHandle>> planned;

  bool isGiven(std::string_view name) const {
    return std::ranges::any_of(
        planned, [&](const auto& each) { return each.first == name && each.second.count() > 0; });
  }
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
  return directory / fmt::format("{}{:08x}", procurement::kOwnDirectory, number);
}

// Results that came back: those in another evaluation, or those that the words name.
base::Result<std::vector<std::string>> resultsOf(const std::string& name,
                                                 const std::string& value) {
  if (procurement::hasPlan(value)) return procurement::resultsIn(value, name);
  std::vector<std::string> results = procurement::resultsIn(value);
  for (std::string& path : results) {
    std::error_code error;
    const bool is_result = fs::is_regular_file(path, error) ||
                           fs::exists(fs::path(path) / "manifest.json", error) ||
                           fs::exists(procurement::reportOf(path), error);
    if (!is_result) return std::vector<std::string>();
    path = fs::absolute(path, error);
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
      if (base::printable(candidate.directory.native()) != candidate.directory.native()) {
        return wrong(fmt::format("--on {}: the name cannot be written down in a plan; rename it",
                                 base::printable(word)));
      }
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
  if (!options.launcher.empty() || options.processes > 0) {
    return wrong(
        "--ranks starts as many processes as there are ranks: it takes no --launcher and no -n");
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
  if (options.isGiven("--at-most") && options.at_most < options.rounds) {
    return wrong(
        fmt::format("--at-most {} is less than the {} rounds that are made at the least (--rounds)",
                    options.at_most, options.rounds));
  }
  plan.keeps_traces = !options.no_traces;
  plan.processes = options.processes;
  plan.launcher = options.launcher;
  plan.launcher_options = options.launcher_options;
  for (const std::string& word : options.run_options) {
    for (const std::string_view own : kOwnRunOptions) {
      const bool is_own = word == own || word.starts_with(fmt::format("{}=", own));
      if (is_own) {
        return wrong(
            fmt::format("--run-option={}: omnio evaluate says that itself", base::printable(word)));
      }
    }
  }
  for (const fs::path& path : {plan.recording, options.output}) {
    if (base::printable(path.native()) == path.native()) continue;
    return wrong(fmt::format("{}: its name cannot be written down in a plan; rename it",
                             base::printable(path.native())));
  }
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
  if (plan.kind == RecordingKind::kPhaseModel &&
      procurement::scheduleOf(options.output, plan).empty()) {
    return wrong(fmt::format(
        "{}: it names no schedule, and its phases cannot be run together; `omnio phases "
        "TRACE -o` writes one beside the model",
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
    // A file system without locks has none to hold.
    while (fd_ >= 0 && !(is_held_ = flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
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
  const auto [least, most] = std::pair(plan.rounds.least, plan.rounds.most);
  if (needs.empty())
    return "what runs of single phases need is not known before; nothing was run\n";
  text += fmt::format(
      "{}: {} in the calls and the work between them, with storage as fast as in the "
      "recording; starting each run and preparing its files come on top{}; nothing was "
      "run\n",
      least < most ? fmt::format("{} to {} rounds", least, most)
                   : base::counted(least, "round", "rounds"),
      least < most ? fmt::format("{} to {}", all(least), all(most)) : all(least),
      plan.ranks.empty() ? "" : ", and so do the projections");
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
  Answer answer = {.text = procurement::textOf(comparison, kPhasesShown),
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

// Everything but the options. `is_new`: nothing was run yet, and what is refused leaves nothing.
int evaluate(const EvaluateOptions& options, const EvaluationPlan& plan, bool is_new) {
  EvaluationRun run(options.output, plan);
  const std::string go_on = fmt::format("; `omnio evaluate -o {} --resume` goes on",
                                        base::shellWord(base::printable(options.output.native())));
  const auto refused = [&](const base::Failure& failure) {
    const bool leaves = !is_new || (run.stoppedBy() != 0 && !options.dry_run);
    std::error_code ignored;
    if (!leaves) fs::remove_all(options.output, ignored);
    if (run.stoppedBy() != 0) {
      printFailure(fmt::format("interrupted by {}{}", base::signalName(run.stoppedBy()),
                               leaves ? go_on : ""));
      base::endBySignal(run.stoppedBy());
    }
    return fail(failure);
  };
  const auto ended = [&](const base::Failure& failure) {
    if (run.stoppedBy() != 0) {
      printFailure(fmt::format("interrupted by {}{}", base::signalName(run.stoppedBy()), go_on));
      base::endBySignal(run.stoppedBy());
    }
    return fail({failure.code, failure.sentence + go_on});
  };
  if (const auto made = run.makeDocuments(); !made) return refused(made.failure());
  std::vector<RunNeeds> needs;
  const auto look = [&]() -> base::Result<void> {
    if (auto fit = procurement::checkPlaces(plan, options.output); !fit) return fit;
    base::Result<std::vector<RunNeeds>> looked = run.lookAhead();
    if (!looked) return looked.failure();
    needs = std::move(*looked);
    return run.checkRoomForTraces();
  };
  if (is_new) {
    if (const auto looked = look(); !looked) return refused(looked.failure());
  }
  if (const auto read = run.readElsewhere(); !read) return refused(read.failure());
  if (options.dry_run) return printAll(needsText(needs, plan));
  const base::Result<bool> wants_runs = run.wantsRuns();
  if (!wants_runs) return ended(wants_runs.failure());
  if (*wants_runs) {
    if (!is_new) {
      if (const auto looked = look(); !looked) return ended(looked.failure());
    }
    if (const auto done = run.runRounds(); !done) return ended(done.failure());
  }
  const ProgressLine progress;
  const base::Result<procurement::Comparison> comparison = run.compared();
  if (!comparison) return ended(comparison.failure());
  run.removeData();
  Answer answer = answerOf(options, plan, *comparison);
  if (const auto written = write(options.output, answer); !written) return ended(written.failure());
  if (!plan.ranks.empty()) {
    const auto projections = run.project();
    if (!projections) return ended(projections.failure());
    const std::string json = procurement::jsonOf(*projections);
    answer = answerOf(options, plan, *comparison, json);
    answer.text += procurement::textOf(*projections);
    auto written = base::writeDocument(options.output / "projections.json", json);
    if (written) written = write(options.output, answer);
    if (!written) return ended(written.failure());
  }
  return options.json ? printJson(answer.json) : printAll(answer.text);
}

int resume(const EvaluateOptions& options) {
  for (const auto& [name, handle] : options.planned) {
    if (handle.count() == 0) continue;
    return fail(
        wrong(fmt::format("--resume goes on as the evaluation began: it takes no {}", name)),
        kWrongUsage);
  }
  if (options.dry_run) return fail(wrong("--dry-run is for a new evaluation"), kWrongUsage);
  if (!procurement::hasPlan(options.output)) {
    return fail({base::Code::kNotFound, fmt::format("{}: no evaluation is there",
                                                    base::printable(options.output.native()))});
  }
  const DirectoryLock lock(options.output);
  const base::Result<EvaluationPlan> plan = procurement::readPlan(options.output);
  if (!plan) return fail(plan.failure());
  if (!lock.isHeld()) {
    return fail(wrong(fmt::format("{}: an evaluation works there at this moment",
                                  base::printable(options.output.native()))));
  }
  return evaluate(options, *plan, /*is_new=*/false);
}

// A dry run works in a directory of its own beside OUT, which is gone afterwards.
base::Result<void> makeOutput(EvaluateOptions& options) {
  std::error_code error;
  if (!options.dry_run) {
    fs::create_directories(options.output, error);
    if (error) return base::systemFailure(options.output, error.value(), "cannot create");
    return {};
  }
  std::string name = options.output.native() + ".dry-run.XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return base::systemFailure(name, errno, "cannot create");
  options.output = name;
  return {};
}

int runEvaluate(EvaluateOptions options) {
  std::error_code error;
  options.output = fs::absolute(options.output, error).lexically_normal();
  if (!options.output.has_filename()) options.output = options.output.parent_path();
  if (options.resume) return resume(options);
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
  if (const auto made = makeOutput(options); !made) return fail(made.failure());
  const DirectoryLock lock(options.output);
  if (!lock.isHeld() || procurement::hasPlan(options.output)) {
    return fail(wrong(fmt::format("{}: another evaluation has just begun there",
                                  base::printable(options.output.native()))));
  }
  if (const auto written = procurement::writePlan(options.output, *plan); !written) {
    return fail(written.failure());
  }
  for (const std::string& sentence : procurement::sharedMounts(*plan)) printNote(sentence);
  const int status = evaluate(options, *plan, /*is_new=*/true);
  if (options.dry_run) fs::remove_all(options.output, error);
  return status;
}

}  // namespace

void addEvaluateCommand(base::Command program) {
  constexpr std::uint64_t kMost = 1000;
  const auto options = std::make_shared<EvaluateOptions>();
  const base::Command command = program.subcommand(
      "evaluate", "From a recording to the answer: which candidate is the fastest for it");
  const auto planned = [&](const char* name, const base::OptionHandle& handle) {
    options->planned.emplace_back(name, handle);
  };
  planned("RECORDING",
          command.option("RECORDING", options->recording, "A trace, a schedule or a phase model"));
  planned(
      "--on",
      command
          .option(
              "--on", options->candidates,
              "NAME=DIR: a candidate, and a directory on it; or NAME=RESULT: its results that came "
              "back, as the directory of an evaluation or as files; once for each candidate")
          .repeatable());
  command
      .option("-o,--output", options->output,
              "The directory of the evaluation: all runs, the answer and its evidence")
      .typeName("OUT")
      .required();
  planned("--by", command.option("--by", options->by, "Who makes the I/O again")
                      .oneOf({"replay", "phase-run"})
                      .showDefault());
  planned(
      "--timing",
      command
          .option(
              "--timing", options->timing,
              "dt: with the application's own work between its calls; asap: without, for the limit")
          .oneOf({"dt", "asap"})
          .showDefault());
  planned("--criterion", command
                             .option("--criterion", options->criterion,
                                     "The time that decides: io, the I/O time (with dt), or run, "
                                     "the run time with what is "
                                     "written back at its end (with asap)")
                             .oneOf({"io", "run"}));
  planned("--rounds", command
                          .option("--rounds", options->rounds,
                                  "Rounds at the least: each is a run on each candidate")
                          .between(2, kMost)
                          .showDefault());
  planned("--at-most", command
                           .option("--at-most", options->at_most,
                                   "Rounds at the most, while there is not a winner")
                           .between(2, kMost)
                           .showDefault());
  command.flag("--no-traces", options->no_traces,
               "Keep the reports of replays without their traces");
  planned("-n", command
                    .option("-n,--processes", options->processes,
                            "Processes of a run (default: one for each recorded rank)")
                    .between(1, 10000000));
  planned("--launcher", command
                            .option("--launcher", options->launcher,
                                    "Instead of `mpirun -n N`, in words: \"srun -n 4\"")
                            .typeName("WORDS"));
  planned("--mpi-option", command
                              .option("--mpi-option", options->launcher_options,
                                      "A word for the launcher; may be given more than once")
                              .typeName("WORD")
                              .repeatable());
  planned("--run-option", command
                              .option("--run-option", options->run_options,
                                      "A word for omnio replay or omnio-phase-run, as "
                                      "--run-option=--cache=warm; may be given "
                                      "more than once")
                              .typeName("WORD")
                              .repeatable());
  planned(
      "--ranks",
      command
          .option("--ranks", options->ranks,
                  "N,M: evaluate the trace scaled to these numbers of ranks too, as projections")
          .typeName("N,M"));
  planned("--and",
          command
              .option("--and", options->other_trace,
                      "With --ranks: a trace of the same program at another number of ranks")
              .typeName("TRACE"));
  command
      .option("--projected-from", options->projected_from,
              "The schedule was scaled from so many recorded ranks")
      .between(1, 10000000)
      .hidden();
  planned("--scaling",
          command.option("--scaling", options->scaling, "With --ranks: as of omnio preprocess")
              .oneOf({"weak", "strong"}));
  planned("--assume",
          command.option("--assume", options->assume, "With --ranks: as of omnio preprocess")
              .oneOf({"strided-by-ranks", "constant"}));
  planned("--peak", command
                        .option("--peak", options->peaks,
                                "NAME=WRITE,READ: what a candidate can do at most, in MiB/s; or "
                                "NAME=FILE, the peak.json "
                                "of omnio ior --peak; may be given more than once")
                        .repeatable());
  command.flag("--resume", options->resume, "Go on with the evaluation in OUT, which was ended");
  command.flag("--dry-run", options->dry_run, "Say which room and time it takes, and run nothing");
  command.flag("--json", options->json, "Print a JSON document instead of tables");
  command.callback([options] { return runEvaluate(*options); });
}

}  // namespace omnio::cli
