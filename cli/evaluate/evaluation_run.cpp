#include "cli/evaluate/evaluation_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <system_error>
#include <utility>

#include "cli/launcher.hpp"
#include "cli/output.hpp"
#include "cli/page_file.hpp"
#include "cli/trace/child.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/tracefile/trace.hpp"
#include "phase_model/model_builder.hpp"
#include "procurement/candidate_results.hpp"
#include "procurement/replay_report.hpp"
#include "replay/launch.hpp"
#include "replay/target/adopt.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using procurement::EvaluationPlan;
using procurement::PlannedCandidate;
using procurement::RecordingKind;
using procurement::Runner;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The last line that omnio printed to say why it failed; else the last line.
std::string tellingLine(const fs::path& printed) {
  std::ifstream in(printed);
  std::string telling;
  bool is_own = false;
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    const bool says_who = line.starts_with("omnio") && colon != std::string::npos;
    if (line.empty() || (is_own && !says_who)) continue;
    is_own = says_who;
    telling = says_who ? line.substr(colon + 2) : line;
  }
  return base::safeText(telling);
}

std::string durationText(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  if (seconds < kMinute) return fmt::format("{:.0f} s", seconds);
  if (seconds < kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  return fmt::format("{:.1f} h", seconds / kHour);
}

// A file that is the standard output and error of a command.
class PrintedFile {
 public:
  explicit PrintedFile(const fs::path& path)
      : fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {}
  PrintedFile(const PrintedFile&) = delete;
  PrintedFile& operator=(const PrintedFile&) = delete;
  ~PrintedFile() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

EvaluationRun::EvaluationRun(fs::path directory, const EvaluationPlan& plan)
    : directory_(std::move(directory)), plan_(plan), omnio_(fs::read_symlink("/proc/self/exe")) {}

base::Result<void> EvaluationRun::command(const std::vector<std::string>& words,
                                          const fs::path& printed, bool shows_errors) {
  const auto begin = Clock::now();
  ChildEnd end;
  {
    const PrintedFile file(printed);
    if (file.fd() < 0) return base::systemFailure(printed, errno, "cannot write");
    end = runChild(
        words, {.apart = true, .output = file.fd(), .error_output = shows_errors ? -1 : file.fd()});
  }
  std::ofstream(directory_ / "commands.txt", std::ios::app)
      << fmt::format("{} status {}, {:.1f} s: {}\n", timeNow(), end.exitCode(), secondsSince(begin),
                     shellLine(words));
  stopped_by_ = end.stopped_by;
  if (stopped_by_ != 0) return base::failure(base::Code::kSystem, "interrupted");
  if (end.start_error != 0)
    return base::systemFailure(words.front(), end.start_error, "cannot run");
  if (end.exitCode() == kDone || end.exitCode() == kDifferences) return {};
  std::string why = tellingLine(printed);
  if (why.empty()) why = fmt::format("{} ended with status {}", words.front(), end.exitCode());
  return base::failure(base::Code::kSystem, "{}", why);
}

base::Result<void> EvaluationRun::makeDocuments() {
  if (plan_.kind != RecordingKind::kTrace) return {};
  std::error_code ignored;
  const fs::path model = procurement::modelOf(directory_, plan_);
  if (!fs::exists(model, ignored)) {
    printNote("the phases of the recording");
    // The phase runner follows the schedule beside the model, and a replay its own.
    const char* const schedule = plan_.runner == Runner::kPhaseRun ? "yes" : "no";
    const auto made =
        command({omnio_, "phases", plan_.recording, "-o", model, "--schedule", schedule},
                directory_ / "phases.txt");
    if (!made) return made;
  }
  if (!plan_.ranks.empty()) {
    // Scaled to its own number of ranks, the recording shows how far projections may be off.
    const base::Result<model::PhaseModel> phases = this->model();
    if (!phases) return phases.failure();
    std::vector<int> numbers = plan_.ranks;
    numbers.push_back(static_cast<int>(phases->processes));
    for (const int ranks : numbers) {
      if (const auto scaled = scaleTo(ranks); !scaled) return scaled;
    }
  }
  const fs::path schedule = procurement::scheduleOf(directory_, plan_);
  if (plan_.runner == Runner::kReplay && !fs::exists(schedule, ignored)) {
    printNote("the schedule of the recording");
    return command(
        {omnio_, "preprocess", plan_.recording, "-o", schedule, "--timing", plan_.timing},
        directory_ / "preprocess.txt");
  }
  return {};
}

std::vector<std::string> EvaluationRun::replayWords(const PlannedCandidate& candidate) const {
  std::vector<std::string> words = {
      omnio_,       "replay",         procurement::scheduleOf(directory_, plan_),
      "--target",   candidate.target, "--timing",
      plan_.timing, "--fresh"};
  if (plan_.processes > 0) words.insert(words.end(), {"-n", std::to_string(plan_.processes)});
  if (!plan_.launcher.empty()) words.insert(words.end(), {"--launcher", plan_.launcher});
  for (const std::string& word : plan_.launcher_options) words.push_back("--mpi-option=" + word);
  if (!plan_.keeps_traces) words.emplace_back("--no-trace");
  words.insert(words.end(), plan_.words.begin(), plan_.words.end());
  return words;
}

base::Result<std::vector<RunNeeds>> EvaluationRun::lookAhead() {
  std::vector<RunNeeds> all;
  const fs::path printed = directory_ / "dry-run.json";
  const fs::path schedule = procurement::scheduleOf(directory_, plan_);
  if (schedule.empty()) return all;  // phases that are run by themselves: the runner looks
  for (const std::size_t i : plan_.here()) {
    const PlannedCandidate& candidate = plan_.candidates[i];
    // The phase runner follows a schedule too.
    std::vector<std::string> words =
        plan_.runner == Runner::kReplay
            ? replayWords(candidate)
            : std::vector<std::string>{omnio_,     "replay",         schedule,
                                       "--target", candidate.target, "--fresh"};
    words.insert(words.end(), {"-o", directory_ / "dry-run", "--dry-run", "--json"});
    if (const auto done = command(words, printed); !done) {
      return base::failure(done.failure().code, "{}: {}", base::printable(candidate.name),
                           done.failure().sentence);
    }
    base::JsonReader in(printed, base::kMostBytesHeld);
    const base::JsonNode root = in.value();
    RunNeeds needs;
    needs.candidate = candidate.name;
    if (!in.failed()) {
      base::JsonObject document(in, root, base::JsonObject::Others::kAllowed);
      for (const base::JsonNode& item : document.list("rooms")) {
        base::JsonObject room(in, item, base::JsonObject::Others::kAllowed);
        needs.needed_bytes += room.natural("needed_bytes");
        const base::JsonNode* const free = room.find("free_bytes");
        if (free != nullptr && free->number()) {
          needs.free_bytes = static_cast<std::uint64_t>(*free->number());
        }
      }
      base::JsonObject duration(in, document.require("duration"),
                                base::JsonObject::Others::kAllowed);
      needs.expected_ns = duration.integer("expected_ns");
      work_ = {.operations = document.natural("operations"),
               .read_bytes = document.natural("bytes_read"),
               .written_bytes = document.natural("bytes_written")};
    }
    if (const auto read = in.finish(); !read) return read.failure();
    all.push_back(std::move(needs));
  }
  std::error_code ignored;
  fs::remove(printed, ignored);
  return all;
}

base::Result<void> EvaluationRun::checkRoomForTraces() const {
  if (plan_.runner != Runner::kReplay || !plan_.keeps_traces ||
      plan_.kind != RecordingKind::kTrace) {
    return {};
  }
  std::uint64_t trace_bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(plan_.recording, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) trace_bytes += entry->file_size(ignored);
  }
  const std::size_t rounds = procurement::finishedRounds(directory_, plan_);
  const std::size_t missing = plan_.rounds.least - std::min(rounds, plan_.rounds.least);
  const std::uint64_t needed = trace_bytes * missing * plan_.here().size();
  const fs::space_info space = fs::space(directory_, error);
  if (error || needed <= space.available) return {};
  return base::failure(
      base::Code::kSystem,
      "{}: too little room for the traces of {}: about {} are needed, and {} are free; --no-traces "
      "keeps their reports alone",
      base::printable(directory_.native()), base::counted(plan_.rounds.least, "round", "rounds"),
      base::humanBytes(static_cast<double>(needed)),
      base::humanBytes(static_cast<double>(space.available)));
}

base::Result<void> EvaluationRun::runOnce(std::size_t round, const PlannedCandidate& candidate) {
  const fs::path result = procurement::runOf(directory_, round, candidate.name);
  const fs::path draft = result.native() + procurement::kUnfinished;
  std::error_code error;
  fs::remove_all(draft, error);
  if (const auto still = procurement::checkStillThere(candidate); !still) return still;
  std::vector<std::string> words;
  if (plan_.runner == Runner::kReplay) {
    words = replayWords(candidate);
  } else {
    const auto runner = replay::programBeside("omnio-phase-run", "ior_bridge", "",
                                              " (omnio may have been built without MPI)");
    if (!runner) return runner.failure();
    fs::create_directory(candidate.target, error);
    if (error) return base::systemFailure(candidate.target, error.value(), "cannot create");
    if (plan_.processes == 0 && !recorded_processes_) {
      const base::Result<model::PhaseModel> phases = model();
      if (!phases) return phases.failure();
      recorded_processes_ = static_cast<int>(phases->processes);
    }
    const int processes = plan_.processes > 0 ? plan_.processes : *recorded_processes_;
    words = launcherWords(plan_.launcher, plan_.launcher_options, processes);
    words.insert(words.end(), {runner->native(), procurement::modelOf(directory_, plan_),
                               "--target", candidate.target});
    words.insert(words.end(), plan_.words.begin(), plan_.words.end());
  }
  words.insert(words.end(), {"-o", draft});
  const fs::path printed = result.native() + ".txt";
  if (const auto done = command(words, printed); !done) return done;
  if (plan_.runner == Runner::kReplay) {
    if (const auto fit = checkReplay(draft); !fit) return fit;
    const bool has_limit = std::ranges::any_of(
        plan_.words, [](const std::string& word) { return word.starts_with("--late-limit"); });
    const auto evidence = procurement::readEvidence(procurement::reportOf(draft));
    if (has_limit && evidence && *evidence && (*evidence)->is_late) {
      return base::failure(base::Code::kSystem, "{}", tellingLine(printed));
    }
  } else if (const auto time = procurement::timeOf(draft, plan_.criterion); !time) {
    return time.failure();
  }
  fs::rename(draft, result, error);
  if (error) return base::systemFailure(draft, error.value(), "cannot rename");
  return {};
}

std::vector<std::string> EvaluationRun::resultsOf(const PlannedCandidate& candidate,
                                                  std::size_t rounds) const {
  std::vector<std::string> results = candidate.results;
  for (std::size_t round = 0; round < rounds && !candidate.isElsewhere(); ++round) {
    results.push_back(procurement::runOf(directory_, round, candidate.name));
  }
  return results;
}

base::Result<void> EvaluationRun::checkReplay(const fs::path& directory) const {
  const auto report = procurement::readReplayReport(procurement::reportOf(directory));
  if (!report) return report.failure();
  if (report->timing != plan_.timing) {
    return base::failure(base::Code::kInvalid, "{}: replayed in {}, and this evaluation is in {}",
                         base::printable(directory.native()), base::printable(report->timing),
                         plan_.timing);
  }
  constexpr std::uint64_t kMostDifferences = 10;  // percent of the calls
  if (report->differences * 100 > kMostDifferences * report->work.operations) {
    return base::failure(
        base::Code::kInvalid,
        "{}: {} of {} did otherwise than in the recording; its replay.json names the "
        "first",
        base::printable(directory.native()), report->differences,
        base::counted(report->work.operations, "call", "calls"));
  }
  if (!work_ || procurement::isSameWork(*work_, report->work)) return {};
  return base::failure(base::Code::kInvalid,
                       "{}: it made {}, and the recording has {}: its calls failed, or it is of "
                       "another recording",
                       base::printable(directory.native()), procurement::textOf(report->work),
                       procurement::textOf(*work_));
}

base::Result<void> EvaluationRun::readElsewhere() {
  const base::Result<model::PhaseModel> phases =
      plan_.kind == RecordingKind::kSchedule ? model::PhaseModel() : model();
  if (!phases) return phases.failure();
  std::error_code ignored;
  for (const PlannedCandidate& planned : plan_.candidates) {
    if (!planned.isElsewhere()) continue;
    const auto named = [&](const base::Failure& failure) {
      return base::failure(failure.code, "{}: {}", base::printable(planned.name), failure.sentence);
    };
    for (const std::string& result : planned.results) {
      if (!fs::exists(procurement::reportOf(result), ignored)) continue;
      if (const auto fit = checkReplay(result); !fit) return named(fit.failure());
    }
    // The model of a schedule is that of its first replay.
    if (plan_.kind == RecordingKind::kSchedule) {
      for (const std::string& result : planned.results) {
        const base::Result<double> time = procurement::timeOf(result, plan_.criterion);
        if (!time) return named(time.failure());
        elsewhere_[planned.name].io_s.push_back(*time);
      }
      continue;
    }
    base::Result<procurement::Candidate> candidate =
        procurement::candidateOf(*phases, planned.name, planned.results, plan_.criterion);
    if (!candidate) return named(candidate.failure());
    if (candidate->kind == procurement::TimeKind::kSum) {
      return base::failure(
          base::Code::kInvalid,
          "{}: its times are sums over phases that were run one by one; those of an "
          "evaluation are of all phases together",
          base::printable(planned.name));
    }
    elsewhere_[planned.name] = std::move(*candidate);
  }
  return {};
}

base::Result<bool> EvaluationRun::wantsRuns() {
  return wantsMore(procurement::finishedRounds(directory_, plan_));
}

base::Result<bool> EvaluationRun::wantsMore(std::size_t rounds) {
  if (plan_.here().empty()) return false;
  if (rounds < plan_.rounds.least) return true;
  if (rounds >= plan_.rounds.most || plan_.candidates.size() < 2) return false;
  std::vector<procurement::Candidate> candidates;
  for (const PlannedCandidate& planned : plan_.candidates) {
    procurement::Candidate& candidate = candidates.emplace_back();
    candidate.name = planned.name;
    candidate.is_elsewhere = planned.isElsewhere();
    if (candidate.is_elsewhere) {
      candidate.io_s = elsewhere_.at(planned.name).io_s;
      continue;
    }
    std::vector<double>& times = times_[planned.name];
    while (times.size() < rounds) {
      const fs::path run = procurement::runOf(directory_, times.size(), planned.name);
      const base::Result<double> time = procurement::timeOf(run, plan_.criterion);
      if (!time) return time.failure();
      times.push_back(*time);
    }
    candidate.io_s.assign(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(rounds));
  }
  return !procurement::compare(model::PhaseModel(), std::move(candidates), plan_.rounds).winner;
}

std::string EvaluationRun::progressText(std::size_t round, const PlannedCandidate& candidate,
                                        double time_s, double run_takes_s) const {
  const std::vector<std::size_t> here = plan_.here();
  const auto finished = static_cast<std::size_t>(std::ranges::count_if(here, [&](std::size_t i) {
    std::error_code ignored;
    return fs::exists(procurement::runOf(directory_, round, plan_.candidates[i].name), ignored);
  }));
  const auto left = [&](std::size_t rounds) {
    const std::size_t runs = (std::max(rounds, round + 1) - round) * here.size() - finished;
    return durationText(run_takes_s * static_cast<double>(runs));
  };
  const auto [least, most] = std::pair(plan_.rounds.least, plan_.rounds.most);
  const bool is_open = least < most && plan_.candidates.size() > 1;
  const bool is_beyond = round + 1 > least;
  return fmt::format("round {} of {}: {}, {} {:.6g} s; {} left", round + 1,
                     !is_open    ? std::to_string(least)
                     : is_beyond ? fmt::format("at most {}", most)
                                 : fmt::format("{} to {}", least, most),
                     base::printable(candidate.name),
                     plan_.criterion == procurement::Criterion::kIoTime ? "I/O time" : "run time",
                     time_s,
                     !is_open    ? left(least)
                     : is_beyond ? fmt::format("up to {}", left(most))
                                 : fmt::format("{} to {}", left(least), left(most)));
}

base::Result<void> EvaluationRun::runRounds() {
  const std::vector<std::size_t> here = plan_.here();
  std::error_code error;
  fs::create_directories(directory_ / "runs", error);
  if (error) return base::systemFailure(directory_ / "runs", error.value(), "cannot create");
  const auto begin = Clock::now();
  std::size_t runs = 0;  // that were made since
  std::size_t round = procurement::finishedRounds(directory_, plan_);
  if (round > 0)
    printNote(fmt::format("goes on after {}", base::counted(round, "round", "rounds")));
  for (;; ++round) {
    const base::Result<bool> wants_more = wantsMore(round);
    if (!wants_more) return wants_more.failure();
    if (!*wants_more) return {};
    for (const std::size_t turn : procurement::turnsOf(round, here.size())) {
      const PlannedCandidate& candidate = plan_.candidates[here[turn]];
      const fs::path result = procurement::runOf(directory_, round, candidate.name);
      if (fs::exists(result, error)) continue;
      const auto done = runOnce(round, candidate);
      if (!done) {
        return base::failure(done.failure().code, "round {}, {}: {}", round + 1,
                             base::printable(candidate.name), done.failure().sentence);
      }
      ++runs;
      const base::Result<double> time = procurement::timeOf(result, plan_.criterion);
      if (!time) return time.failure();
      printNote(
          progressText(round, candidate, *time, secondsSince(begin) / static_cast<double>(runs)));
    }
  }
}

// That of a schedule is made from the trace of its first replay, whose times say nothing of the
// application; without a trace there are no phases.
base::Result<model::PhaseModel> EvaluationRun::model() const {
  if (plan_.kind != RecordingKind::kSchedule) {
    return model::readPhaseModel(procurement::modelOf(directory_, plan_));
  }
  const std::vector<std::size_t> here = plan_.here();
  if (!plan_.keeps_traces || here.empty()) return model::PhaseModel();
  const fs::path first = procurement::runOf(directory_, 0, plan_.candidates[here.front()].name);
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(first);
  if (!trace) return trace.failure();
  base::Result<phases::MadeModel> made = phases::makePhaseModel(*trace, {});
  if (!made) return made.failure();
  made->model.io = {};
  for (model::Phase& phase : made->model.phases) phase.io = {};
  made->model.source = plan_.recording;
  return std::move(made->model);
}

base::Result<procurement::Comparison> EvaluationRun::compared() const {
  const std::size_t rounds = procurement::finishedRounds(directory_, plan_);
  if (rounds == 0 && !plan_.here().empty()) {
    return base::failure(base::Code::kEmpty, "{}: no round is finished",
                         base::printable(directory_.native()));
  }
  const base::Result<model::PhaseModel> phases = model();
  if (!phases) return phases.failure();
  std::vector<procurement::Candidate> candidates;
  for (const PlannedCandidate& planned : plan_.candidates) {
    const auto read = elsewhere_.find(planned.name);  // before the runs, with their phases
    base::Result<procurement::Candidate> candidate =
        read != elsewhere_.end() && plan_.kind != RecordingKind::kSchedule
            ? read->second
            : procurement::candidateOf(*phases, planned.name, resultsOf(planned, rounds),
                                       plan_.criterion);
    if (!candidate) return candidate.failure();
    candidate->is_elsewhere = planned.isElsewhere();
    if (!planned.mount.empty()) {
      candidate->target = fmt::format("{} ({})", planned.directory.native(), planned.mount);
    }
    candidates.push_back(std::move(*candidate));
  }
  if (const auto set = procurement::setBeside(*phases, candidates); !set) return set.failure();
  for (const std::string& peak : plan_.peaks) {
    if (const auto taken = procurement::takePeak(peak, candidates); !taken) return taken.failure();
  }
  procurement::Comparison comparison =
      procurement::compare(*phases, std::move(candidates), plan_.rounds);
  if (plan_.projected_from > 0) {
    comparison.projection = fmt::format(
        "a projection: the schedule was scaled from {} by omnio preprocess --ranks, and its "
        "error band stands in projections.json of the evaluation of the recording",
        base::counted(static_cast<std::uint64_t>(plan_.projected_from), "recorded rank",
                      "recorded ranks"));
  }
  return comparison;
}

base::Result<void> EvaluationRun::scaleTo(int ranks) {
  const fs::path schedule = directory_ / fmt::format("ranks-{}.json", ranks);
  std::error_code ignored;
  if (fs::exists(schedule, ignored)) return {};
  std::vector<std::string> words = {omnio_, "preprocess", plan_.recording};
  words.insert(words.end(), plan_.scale_words.begin(), plan_.scale_words.end());
  words.insert(words.end(),
               {"-o", schedule, "--ranks", std::to_string(ranks), "--timing", plan_.timing});
  return command(words, schedule.native() + ".txt");
}

base::Result<procurement::BriefAnswer> EvaluationRun::answerAt(int ranks, int recorded) {
  const fs::path evaluation = directory_ / fmt::format("ranks-{}", ranks);
  const fs::path schedule = directory_ / fmt::format("ranks-{}.json", ranks);
  const fs::path answer = evaluation / kAnswerName;
  std::error_code ignored;
  if (fs::exists(answer, ignored)) return procurement::readAnswer(answer);
  printNote(fmt::format("projection to {}",
                        base::counted(static_cast<std::uint64_t>(ranks), "rank", "ranks")));
  std::vector<std::string> words = {omnio_, "evaluate", "-o", evaluation};
  if (procurement::hasPlan(evaluation)) {
    words.emplace_back("--resume");
  } else {
    words.insert(words.end(), {schedule, "--timing", plan_.timing, "--criterion",
                               std::string(base::wordOf(procurement::kCriteria, plan_.criterion)),
                               "--rounds", std::to_string(plan_.rounds.least), "--at-most",
                               std::to_string(plan_.rounds.most), "--no-traces", "--projected-from",
                               std::to_string(recorded)});
    for (const std::size_t i : plan_.here()) {
      words.insert(words.end(), {"--on", fmt::format("{}={}", plan_.candidates[i].name,
                                                     plan_.candidates[i].directory.native())});
    }
    for (const std::string& word : plan_.launcher_options) words.push_back("--mpi-option=" + word);
    for (const std::string& word : plan_.words) words.push_back("--run-option=" + word);
  }
  constexpr bool kShowsErrors = true;
  const auto done = command(words, evaluation.native() + ".txt", kShowsErrors);
  if (!done)
    return base::failure(done.failure().code, "at {} ranks: {}", ranks, done.failure().sentence);
  return procurement::readAnswer(answer);
}

base::Result<procurement::Projections> EvaluationRun::project() {
  const base::Result<procurement::BriefAnswer> recorded =
      procurement::readAnswer(directory_ / kAnswerName);
  if (!recorded) return recorded.failure();
  const base::Result<model::PhaseModel> phases = model();
  if (!phases) return phases.failure();
  procurement::Projections projections;
  projections.recorded_ranks = static_cast<int>(phases->processes);
  const auto itself = answerAt(projections.recorded_ranks, projections.recorded_ranks);
  if (!itself) return itself.failure();
  projections.error_band = procurement::errorBandOf(*recorded, *itself);
  for (const int ranks : plan_.ranks) {
    auto answer = answerAt(ranks, projections.recorded_ranks);
    if (!answer) return answer.failure();
    projections.all.push_back({.ranks = ranks, .answer = std::move(*answer)});
  }
  return projections;
}

void EvaluationRun::removeData() const {
  for (const std::size_t i : plan_.here()) {
    const PlannedCandidate& candidate = plan_.candidates[i];
    std::error_code ignored;
    const bool is_own =
        candidate.target.filename().native().starts_with(procurement::kOwnDirectory);
    if (is_own && candidate.target != candidate.directory) {
      fs::remove_all(candidate.target, ignored);
    }
  }
}

}  // namespace omnio::cli
