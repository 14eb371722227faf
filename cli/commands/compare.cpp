// omnio compare: candidates for the I/O of one application, side by side.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/page_file.hpp"
#include "cli/progress_line.hpp"
#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"
#include "ior_bridge/comparison.hpp"
#include "ior_bridge/ior/emit.hpp"
#include "ior_bridge/ior/plan_results.hpp"
#include "ior_bridge/ior/summary_reader.hpp"
#include "phase_model/model_builder.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPhaseRows = 20;
constexpr double kNsInSecond = 1e9;

struct CompareOptions {
  std::string model;
  std::vector<std::string> candidates;
  std::vector<std::string> peaks;
  bool all = false;
  bool json = false;
  bool csv = false;
  std::string page;
};

std::string_view kindText(ior::TimeKind kind) {
  return kind == ior::TimeKind::kSum ? "sums over phases that were run one by one"
                                     : "runs of all phases together";
}

base::Failure refuse(const std::string& path, std::string_view why) {
  return {base::Code::kInvalid, fmt::format("{}: {}", base::printable(path), why)};
}

// Why these times cannot be added to those that the candidate has; nothing when they can.
base::Result<void> takeKind(const std::string& path, ior::TimeKind kind, ior::Candidate& into) {
  if (!into.kind) into.kind = kind;
  if (into.kind == kind) return {};
  return refuse(path, fmt::format("{}, and others of \"{}\" are of {}", kindText(kind),
                                  base::printable(into.name), kindText(*into.kind)));
}

base::Result<void> takeTarget(const std::string& path, const std::string& target,
                              ior::Candidate& into) {
  if (into.target.empty()) into.target = target;
  if (target.empty() || into.target == target) return {};
  return refuse(
      path, fmt::format("results of {}, and others of \"{}\" are of {}", base::printable(target),
                        base::printable(into.name), base::printable(into.target)));
}

// Adds the times that follow from the bandwidths of a phase. `mib_s`: by operation of the phase,
// and by run.
void addPhaseTimes(const model::Phase& phase, const std::vector<std::vector<double>>& mib_s,
                   std::size_t runs, ior::PhaseTimes& into) {
  if (phase.isMetadata()) return;
  for (std::size_t run = 0; run < runs; ++run) {
    double seconds[2] = {0, 0};  // of writes, and of reads
    bool is_there[2] = {false, false};
    bool is_whole = true;
    for (std::size_t i = 0; i < phase.operations.size(); ++i) {
      if (run >= mib_s[i].size()) {
        is_whole = false;
        continue;
      }
      const std::size_t kind = phase.operations[i].operation == model::Operation::kWrite ? 0 : 1;
      is_there[kind] = true;
      seconds[kind] += static_cast<double>(model::weightOf(phase, phase.operations[i])) /
                       model::kMiB / mib_s[i][run];
    }
    if (!is_whole) continue;
    into.all_s.push_back(seconds[0] + seconds[1]);
    if (is_there[0]) into.write_s.push_back(seconds[0]);
    if (is_there[1]) into.read_s.push_back(seconds[1]);
  }
}

// Phases that were run one by one: the n-th iterations of all phases are the n-th run.
void addSums(const model::PhaseModel& model,
             const std::map<int, std::vector<std::vector<double>>>& mib_s, std::size_t iterations,
             ior::Candidate& into) {
  std::vector<double> sums(iterations, 0);
  for (const model::Phase& phase : model.phases) {
    if (phase.isMetadata()) continue;
    ior::PhaseTimes times;
    addPhaseTimes(phase, mib_s.at(phase.id), iterations, times);
    for (std::size_t run = 0; run < sums.size(); ++run) sums[run] += times.all_s[run];
    ior::PhaseTimes& all = into.phases[phase.id];
    for (auto part :
         {&ior::PhaseTimes::all_s, &ior::PhaseTimes::write_s, &ior::PhaseTimes::read_s}) {
      (all.*part).insert((all.*part).end(), (times.*part).begin(), (times.*part).end());
    }
  }
  into.io_s.insert(into.io_s.end(), sums.begin(), sums.end());
}

// The summaries of IOR beside an ior-plan.json.
base::Result<void> addPlan(const model::PhaseModel& model, const std::string& path,
                           ior::Candidate& into) {
  const base::Result<ior::PlanResults> results = ior::readPlanResults(path, model);
  if (!results) return results.failure();
  if (results->mib_s.empty()) return refuse(path, "the model has no phases");
  if (auto taken = takeKind(path, ior::TimeKind::kSum, into); !taken) return taken;
  if (auto taken = takeTarget(path, results->target, into); !taken) return taken;
  into.origins.insert(ior::Origin::kIor);
  addSums(model, results->mib_s, results->iterations, into);
  return {};
}

// Phases that the phase runner ran by themselves: all of them, as often as the one with least.
base::Result<void> addApart(const model::PhaseModel& model, const std::string& path,
                            const ior::Summary& summary, ior::Candidate& into) {
  std::map<int, std::vector<std::vector<double>>> mib_s;
  std::size_t iterations = std::numeric_limits<std::size_t>::max();
  for (const model::Phase& phase : model.phases) {
    if (phase.isMetadata()) continue;
    const auto test = std::ranges::find(summary.tests, phase.id, &ior::SummaryTest::phase);
    if (test == summary.tests.end()) {
      return refuse(path, fmt::format("its phases were run one by one, and phase {} is not there: "
                                      "they do not add up to the time of all",
                                      phase.id));
    }
    for (const model::PhaseOperation& operation : phase.operations) {
      const std::vector<double>& found = test->bandwidth_mib_s.of(operation.operation);
      mib_s[phase.id].push_back(found);
      iterations = std::min(iterations, found.size());
    }
  }
  if (mib_s.empty()) return refuse(path, "the model has no phases");
  if (iterations == 0) {
    return refuse(path, "writes or reads of a phase have no result in it");
  }
  if (auto taken = takeKind(path, ior::TimeKind::kSum, into); !taken) return taken;
  addSums(model, mib_s, iterations, into);
  return {};
}

// Runs of the phase runner.
base::Result<void> addResults(const model::PhaseModel& model, const std::string& path,
                              ior::Candidate& into) {
  const base::Result<ior::Summary> summary = ior::readSummary(path);
  if (!summary) return summary.failure();
  if (summary->of.model.empty()) {
    return refuse(path,
                  "a summary of IOR, which does not say of which model it is: give the "
                  "ior-plan.json of `omnio ior` that is beside it");
  }
  if (summary->of.model != model::digestOf(model)) {
    return refuse(path, fmt::format("results of another model ({}; this one is {})",
                                    base::inBrief(summary->of.model), model::digestOf(model)));
  }
  if (auto taken = takeTarget(path, summary->of.target, into); !taken) return taken;
  into.origins.insert(ior::Origin::kPhaseRun);
  if (summary->runs.empty()) return addApart(model, path, *summary, into);
  if (auto taken = takeKind(path, ior::TimeKind::kTogether, into); !taken) return taken;
  for (const ior::SummaryRun& run : summary->runs) {
    into.io_s.push_back(run.io_s);
    into.runs.push_back(run);
  }
  for (const ior::SummaryTest& test : summary->tests) {
    const auto phase = std::ranges::find(model.phases, test.phase.value_or(0), &model::Phase::id);
    if (phase == model.phases.end()) continue;
    for (const double rate : test.operations_per_s) {
      into.phases[phase->id].all_s.push_back(static_cast<double>(phase->metadata.operations) /
                                             rate);
    }
    std::vector<std::vector<double>> mib_s;
    for (const model::PhaseOperation& operation : phase->operations) {
      mib_s.push_back(test.bandwidth_mib_s.of(operation.operation));
    }
    addPhaseTimes(*phase, mib_s, summary->runs.size(), into.phases[phase->id]);
  }
  return {};
}

// The seconds of the phase in a trace; of its writes or reads where it has nothing else.
void addTraceTime(const model::Phase& phase, double seconds, ior::PhaseTimes& into) {
  into.all_s.push_back(seconds);
  if (phase.isMetadata()) return;
  const model::Operation first = phase.operations.front().operation;
  const bool is_of_one_kind = std::ranges::all_of(
      phase.operations,
      [&](const model::PhaseOperation& operation) { return operation.operation == first; });
  if (!is_of_one_kind) return;
  (first == model::Operation::kWrite ? into.write_s : into.read_s).push_back(seconds);
}

// How many phases, from the first, are the same in both: all, the data phases alone, or none. How
// often metadata calls are made differs from run to run (retries, polling).
std::size_t alikePhases(const model::PhaseModel& a, const model::PhaseModel& b) {
  // Data phases are first.
  const auto data = [](const model::PhaseModel& of) {
    return std::span(of.phases.begin(), std::ranges::find_if(of.phases, &model::Phase::isMetadata));
  };
  const auto same_data = [](const model::Phase& x, const model::Phase& y) {
    return x.weight_bytes == y.weight_bytes && x.interface == y.interface;
  };
  if (!std::ranges::equal(data(a), data(b), same_data)) return 0;
  const auto same = [](const model::Phase& x, const model::Phase& y) {
    const auto name = [](const auto& call) { return call.first; };
    return x.isMetadata() == y.isMetadata() &&
           (!x.isMetadata() || std::ranges::equal(x.calls, y.calls, {}, name, name));
  };
  if (std::ranges::equal(a.phases, b.phases, same)) return a.phases.size();
  return data(a).size();
}

// A trace of the application itself, or of a replay.
base::Result<void> addTrace(const model::PhaseModel& model, const std::string& path,
                            ior::Candidate& into) {
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(path);
  if (!trace) return trace.failure();
  const base::Result<phases::MadeModel> made = phases::makePhaseModel(*trace, {});
  if (!made) return made.failure();
  const model::PhaseModel& own = made->model;
  if (!own.source_whole) return refuse(path, "the trace is not whole");
  const auto weight = [](const model::PhaseModel& of) {
    std::uint64_t bytes = 0;
    for (const model::Phase& phase : of.phases) bytes += phase.weight_bytes;
    return bytes;
  };
  if (own.processes != model.processes || weight(own) != weight(model)) {
    return refuse(path, fmt::format("{} processes move {} bytes there, and {} move {} in the model",
                                    own.processes, weight(own), model.processes, weight(model)));
  }
  const std::size_t alike = alikePhases(own, model);
  if (weight(model) == 0 && alike == 0) {
    return refuse(path, "its metadata phases have other calls than those of the model");
  }
  if (auto taken = takeKind(path, ior::TimeKind::kTogether, into); !taken) return taken;
  std::error_code ignored;
  into.origins.insert(fs::exists(fs::path(path) / "replay.json", ignored)
                          ? ior::Origin::kReplay
                          : ior::Origin::kApplication);
  const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) / kNsInSecond; };
  into.io_s.push_back(seconds(own.io.total()));
  std::int64_t sum_ns = own.io_outside.total();
  for (const model::Phase& phase : own.phases) sum_ns += phase.io.total();
  into.runs.push_back({.io_s = into.io_s.back(),
                       .data_s = seconds(own.io.data_ns),
                       .metadata_s = seconds(own.io.metadata_ns),
                       .sync_s = seconds(own.io.sync_ns),
                       .waiting_s = seconds(own.io.waiting_ns),
                       .sum_s = seconds(sum_ns)});
  for (std::size_t i = 0; i < alike; ++i) {
    addTraceTime(model.phases[i], seconds(own.phases[i].io.total()),
                 into.phases[model.phases[i].id]);
  }
  return {};
}

// "NAME=FILE,FILE..."
base::Result<ior::Candidate> candidateOf(const model::PhaseModel& model, const std::string& word) {
  ior::Candidate candidate;
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
    return base::failure(base::Code::kInvalid,
                         "\"{}\": a candidate is given as NAME=RESULT, or NAME=RESULT,RESULT...",
                         base::printable(word));
  }
  candidate.name = word.substr(0, equals);
  for (std::size_t at = equals + 1; at <= word.size();) {
    const std::size_t end = std::min(word.find(',', at), word.size());
    const std::string path = word.substr(at, end - at);
    at = end + 1;
    if (path.empty()) continue;
    std::error_code ignored;
    const auto added = fs::is_directory(path, ignored) ? addTrace(model, path, candidate)
                       : ior::memberOf(path, "format") == ior::kPlanFormat
                           ? addPlan(model, path, candidate)
                           : addResults(model, path, candidate);
    if (!added) return added.failure();
    candidate.sources.push_back(path);
  }
  return candidate;
}

std::optional<double> numberIn(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_good = error == std::errc() && end == text.data() + text.size() && value > 0;
  return is_good ? std::optional(value) : std::nullopt;
}

// "NAME=WRITE,READ" in MiB/s, or "NAME=FILE". Wrong usage, or a file that cannot be taken.
struct PeakFailure {
  base::Failure failure;
  int status = kWrongUsage;
};

std::optional<PeakFailure> takePeak(const std::string& word,
                                    std::vector<ior::Candidate>& candidates) {
  const auto bad = [&](std::string_view why) {
    return PeakFailure{
        base::failure(base::Code::kInvalid, "--peak {}: {}", base::printable(word), why)};
  };
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals + 1 == word.size()) {
    return bad("it is given as NAME=WRITE,READ, in MiB/s, or as NAME=FILE, a peak.json");
  }
  const auto found = std::ranges::find(candidates, word.substr(0, equals), &ior::Candidate::name);
  if (found == candidates.end()) return bad("no candidate has this name");
  if (found->peak) return bad("a candidate has one peak");
  const std::string value = word.substr(equals + 1);
  // A number, or something that is meant as one.
  if (value.find_first_not_of("0123456789.,+-eE") == std::string::npos) {
    const std::string_view text = value;
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto write = numberIn(text.substr(0, comma));
    const auto read = numberIn(text.substr(std::min(comma + 1, text.size())));
    if (!write || !read) return bad("a peak is two numbers of MiB/s above 0, WRITE,READ");
    found->peak = ior::Peak{.write_mib_s = *write, .read_mib_s = *read, .source = {}};
    return std::nullopt;
  }
  if (std::error_code ignored; !fs::exists(value, ignored)) {
    return bad("neither two numbers of MiB/s, WRITE,READ, nor a file that exists");
  }
  const base::Result<ior::PeakBandwidths> peak = ior::readPeak(value);
  if (!peak) return PeakFailure{peak.failure(), kFailed};
  found->peak =
      ior::Peak{.write_mib_s = peak->write_mib_s, .read_mib_s = peak->read_mib_s, .source = value};
  return std::nullopt;
}

// The command that prints all phases of the comparison.
std::string allCommand(const CompareOptions& options) {
  std::vector<std::string> words = {"omnio", "compare", options.model};
  words.insert(words.end(), options.candidates.begin(), options.candidates.end());
  for (const std::string& peak : options.peaks) words.insert(words.end(), {"--peak", peak});
  words.emplace_back("--all");
  return shellLine(words);
}

int runCompare(const CompareOptions& options) {
  const ProgressLine progress;
  const base::Result<model::PhaseModel> model = model::readPhaseModel(options.model);
  if (!model) return fail(model.failure());
  std::vector<ior::Candidate> candidates;
  for (const std::string& word : options.candidates) {
    base::Result<ior::Candidate> candidate = candidateOf(*model, word);
    if (!candidate) return fail(candidate.failure());
    if (std::ranges::find(candidates, candidate->name, &ior::Candidate::name) != candidates.end()) {
      return fail(base::failure(base::Code::kInvalid, "\"{}\" names two candidates",
                                base::printable(candidate->name)),
                  kWrongUsage);
    }
    candidates.push_back(std::move(*candidate));
  }
  if (candidates.size() < 2) {
    return fail(
        base::failure(base::Code::kInvalid, "one candidate has nothing to be compared with"),
        kWrongUsage);
  }
  const auto is_sum = [](const ior::Candidate& each) { return each.kind == ior::TimeKind::kSum; };
  const auto sum = std::ranges::find_if(candidates, is_sum);
  for (ior::Candidate& candidate : candidates) {
    if (sum == candidates.end() || is_sum(candidate)) continue;
    if (ior::setBesideSums(*model, candidate)) continue;
    return fail(base::failure(
        base::Code::kInvalid,
        "\"{}\" has {}, and \"{}\" has no times of all phases to be summed up beside them",
        base::printable(sum->name), kindText(*sum->kind), base::printable(candidate.name)));
  }
  for (const std::string& peak : options.peaks) {
    if (const auto refused = takePeak(peak, candidates)) {
      return fail(refused->failure, refused->status);
    }
  }
  const ior::Comparison comparison = ior::compare(*model, std::move(candidates));
  if (!options.page.empty()) {
    const ior::PageAbout about = {.made = timeNow(),
                                  .version = OMNIO_VERSION,
                                  .model = options.model,
                                  .all_command = allCommand(options)};
    const base::Result<std::size_t> written =
        writePage(options.page, report::PageKind::kComparison, ior::pageDataOf(comparison, about));
    if (!written) return fail(written.failure());
  }
  if (options.json) return printJson(ior::jsonOf(comparison));
  if (options.csv) return printAll(ior::csvOf(comparison));
  return printAll(options.all ? ior::textOf(comparison, comparison.phases.size(), /*is_each=*/true)
                              : ior::textOf(comparison, kPhaseRows));
}

}  // namespace

void addCompareCommand(base::Command program) {
  const auto options = std::make_shared<CompareOptions>();
  const base::Command command = program.subcommand(
      "compare", "Candidates side by side: I/O times, how sure they are, and which is fastest");
  command.option("MODEL", options->model, "A phase model (omnio phases)").required();
  command
      .option("CANDIDATE", options->candidates,
              "NAME=RESULT,RESULT...: results of omnio-phase-run, traces of the application or of "
              "replays, or the ior-plan.json of omnio ior, beside its results")
      .required();
  command
      .option(
          "--peak", options->peaks,
          "NAME=WRITE,READ: what the candidate's system can do at most, in MiB/s; or NAME=FILE, "
          "the peak.json of omnio ior --peak; may be given more than once")
      .repeatable();
  command.flag("--all", options->all, "A row for each phase, not for the longest alone");
  command.flag("--json", options->json, "Prints a JSON document instead of tables");
  command.flag("--csv", options->csv, "Prints comma-separated values instead of tables");
  command.option("--page", options->page, "Writes a page for the browser too").typeName("PAGE");
  command.callback([options] { return runCompare(*options); });
}

}  // namespace omnio::cli
