#include "procurement/candidate_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "ior_bridge/ior/emit.hpp"
#include "ior_bridge/ior/plan_results.hpp"
#include "ior_bridge/ior/summary_reader.hpp"
#include "phase_model/model_builder.hpp"
#include "procurement/replay_report.hpp"

namespace omnio::procurement {
namespace {

namespace fs = std::filesystem;

base::Failure refuse(const std::string& path, std::string_view why) {
  return {base::Code::kInvalid, fmt::format("{}: {}", base::printable(path), why)};
}

std::optional<double> numberIn(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_good = error == std::errc() && end == text.data() + text.size() && value > 0;
  return is_good ? std::optional(value) : std::nullopt;
}

// Why these times cannot be added to those that the candidate has; nothing when they can.
base::Result<void> takeKind(const std::string& path, TimeKind kind, Candidate& into) {
  if (!into.kind) into.kind = kind;
  if (into.kind == kind) return {};
  return refuse(path, fmt::format("{}, and others of \"{}\" are of {}", kindText(kind),
                                  base::printable(into.name), kindText(*into.kind)));
}

base::Result<void> takeTarget(const std::string& path, const std::string& target, Candidate& into) {
  if (into.target.empty()) into.target = target;
  if (target.empty() || into.target == target) return {};
  return refuse(
      path, fmt::format("results of {}, and others of \"{}\" are of {}", base::printable(target),
                        base::printable(into.name), base::printable(into.target)));
}

// Adds the times that follow from the bandwidths of a phase. `mib_s`: by operation of the phase,
// and by run.
void addPhaseTimes(const model::Phase& phase, const std::vector<std::vector<double>>& mib_s,
                   std::size_t runs, PhaseTimes& into) {
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
             Candidate& into) {
  std::vector<double> sums(iterations, 0);
  for (const model::Phase& phase : model.phases) {
    if (phase.isMetadata()) continue;
    PhaseTimes times;
    addPhaseTimes(phase, mib_s.at(phase.id), iterations, times);
    for (std::size_t run = 0; run < sums.size(); ++run) sums[run] += times.all_s[run];
    PhaseTimes& all = into.phases[phase.id];
    for (auto part : {&PhaseTimes::all_s, &PhaseTimes::write_s, &PhaseTimes::read_s}) {
      (all.*part).insert((all.*part).end(), (times.*part).begin(), (times.*part).end());
    }
  }
  into.io_s.insert(into.io_s.end(), sums.begin(), sums.end());
}

// The summaries of IOR beside an ior-plan.json.
base::Result<void> addPlan(const model::PhaseModel& model, const std::string& path,
                           Candidate& into) {
  const base::Result<ior::PlanResults> results = ior::readPlanResults(path, model);
  if (!results) return results.failure();
  if (results->mib_s.empty()) return refuse(path, "the model has no phases");
  if (auto taken = takeKind(path, TimeKind::kSum, into); !taken) return taken;
  if (auto taken = takeTarget(path, results->target, into); !taken) return taken;
  into.origins.insert(Origin::kIor);
  addSums(model, results->mib_s, results->iterations, into);
  return {};
}

// Phases that the phase runner ran by themselves: all of them, as often as the one with least.
base::Result<void> addApart(const model::PhaseModel& model, const std::string& path,
                            const ior::Summary& summary, Candidate& into) {
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
  if (auto taken = takeKind(path, TimeKind::kSum, into); !taken) return taken;
  addSums(model, mib_s, iterations, into);
  return {};
}

// Runs of the phase runner.
base::Result<void> addResults(const model::PhaseModel& model, const std::string& path,
                              Candidate& into) {
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
  into.origins.insert(Origin::kPhaseRun);
  if (summary->runs.empty()) return addApart(model, path, *summary, into);
  if (auto taken = takeKind(path, TimeKind::kTogether, into); !taken) return taken;
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
void addTraceTime(const model::Phase& phase, double seconds, PhaseTimes& into) {
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

// A trace of the application itself, or of the replay that the report is of.
base::Result<void> addTrace(const model::PhaseModel& model, const std::string& path,
                            const ReplayReport* report, Candidate& into) {
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
  const bool is_as_much =
      report == nullptr ? weight(own) == weight(model) : isAboutAsMuch(weight(own), weight(model));
  if (own.processes != model.processes || !is_as_much) {
    return refuse(path, fmt::format("{} move {} bytes there, and {} move {} in the model",
                                    base::counted(static_cast<std::uint64_t>(own.processes),
                                                  "process", "processes"),
                                    weight(own), model.processes, weight(model)));
  }
  const std::size_t alike = alikePhases(own, model);
  if (weight(model) == 0 && alike == 0) {
    return refuse(path, "its metadata phases have other calls than those of the model");
  }
  if (auto taken = takeKind(path, TimeKind::kTogether, into); !taken) return taken;
  const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) / kNsInSecond; };
  ior::SummaryRun run = {.io_s = seconds(own.io.total()),
                         .data_s = seconds(own.io.data_ns),
                         .metadata_s = seconds(own.io.metadata_ns),
                         .sync_s = seconds(own.io.sync_ns),
                         .waiting_s = seconds(own.io.waiting_ns)};
  if (report != nullptr && report->io) run = *report->io;
  std::int64_t sum_ns = own.io_outside.total();
  for (const model::Phase& phase : own.phases) sum_ns += phase.io.total();
  run.sum_s = seconds(sum_ns);
  into.io_s.push_back(run.io_s);
  into.runs.push_back(run);
  for (std::size_t i = 0; i < alike; ++i) {
    addTraceTime(model.phases[i], seconds(own.phases[i].io.total()),
                 into.phases[model.phases[i].id]);
  }
  return {};
}

// The directory of a replay: its report, and its trace where it has one.
base::Result<void> addReplay(const model::PhaseModel& model, const std::string& path,
                             Candidate& into) {
  const base::Result<ReplayReport> report = readReplayReport(reportOf(path));
  if (!report) return report.failure();
  if (into.target.empty()) into.target = report->target;
  into.origins.insert(Origin::kReplay);
  into.run_s.push_back(report->run_s);
  if (report->is_traced) return addTrace(model, path, &*report, into);
  if (auto taken = takeKind(path, TimeKind::kTogether, into); !taken) return taken;
  if (!report->io) {
    return refuse(path, "a replay in asap without a trace: only its run time is known");
  }
  into.io_s.push_back(report->io->io_s);
  return {};
}

base::Result<void> addResult(const model::PhaseModel& model, const std::string& path,
                             Candidate& into) {
  std::error_code ignored;
  const bool is_replay = fs::exists(reportOf(path), ignored);
  if (is_replay || !fs::is_directory(path, ignored)) {
    const auto evidence = readEvidence(is_replay ? reportOf(path) : fs::path(path));
    if (evidence && *evidence) into.evidence.push_back(**evidence);
  }
  if (is_replay) return addReplay(model, path, into);
  if (fs::is_directory(path, ignored)) {
    into.origins.insert(Origin::kApplication);
    return addTrace(model, path, nullptr, into);
  }
  if (ior::memberOf(path, "format") == ior::kPlanFormat) return addPlan(model, path, into);
  return addResults(model, path, into);
}

}  // namespace

base::Result<Candidate> candidateOf(const model::PhaseModel& model, const std::string& name,
                                    const std::vector<std::string>& results, Criterion criterion) {
  Candidate candidate;
  candidate.name = name;
  for (const std::string& path : results) {
    if (auto added = addResult(model, path, candidate); !added) return added.failure();
    candidate.sources.push_back(path);
  }
  if (criterion == Criterion::kRunTime) {
    if (candidate.run_s.size() != results.size()) {
      return base::failure(base::Code::kInvalid, "\"{}\": only replays have run times",
                           base::printable(name));
    }
    candidate.kind = TimeKind::kRun;
    candidate.io_s = candidate.run_s;
  }
  return candidate;
}

std::vector<std::string> resultsIn(const std::string& words) {
  std::error_code ignored;
  if (fs::exists(words, ignored)) return {words};
  std::vector<std::string> results;
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t end = std::min(words.find(',', at), words.size());
    if (end > at) results.push_back(words.substr(at, end - at));
    at = end + 1;
  }
  return results;
}

base::Result<Candidate> candidateOf(const model::PhaseModel& model, const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
    return base::failure(base::Code::kInvalid,
                         "\"{}\": a candidate is given as NAME=RESULT, or NAME=RESULT,RESULT...",
                         base::printable(word));
  }
  return candidateOf(model, word.substr(0, equals), resultsIn(word.substr(equals + 1)));
}

base::Result<void> takePeak(const std::string& word, std::vector<Candidate>& candidates) {
  const auto bad = [&](std::string_view why) {
    return base::failure(base::Code::kInvalid, "--peak {}: {}", base::printable(word), why);
  };
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals + 1 == word.size()) {
    return bad("it is given as NAME=WRITE,READ, in MiB/s, or as NAME=FILE, a peak.json");
  }
  const auto found = std::ranges::find(candidates, word.substr(0, equals), &Candidate::name);
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
    found->peak = Peak{.write_mib_s = *write, .read_mib_s = *read, .source = {}};
    return {};
  }
  if (std::error_code ignored; !fs::exists(value, ignored)) {
    return bad("neither two numbers of MiB/s, WRITE,READ, nor a file that exists");
  }
  const base::Result<ior::PeakBandwidths> peak = ior::readPeak(value);
  if (!peak) return base::failure(base::Code::kDamaged, "{}", peak.failure().sentence);
  found->peak =
      Peak{.write_mib_s = peak->write_mib_s, .read_mib_s = peak->read_mib_s, .source = value};
  return {};
}

base::Result<double> timeOf(const std::string& result, Criterion criterion) {
  std::error_code ignored;
  if (!fs::is_directory(result, ignored)) {
    const base::Result<ior::Summary> summary = ior::readSummary(result);
    if (!summary) return summary.failure();
    if (summary->runs.size() != 1) return refuse(result, "not the result of one run");
    return summary->runs.front().io_s;
  }
  const base::Result<ReplayReport> report = readReplayReport(reportOf(result));
  if (!report) return report.failure();
  if (criterion == Criterion::kRunTime) return report->run_s;
  if (!report->io) return refuse(result, "a replay in asap: only its run time is known");
  return report->io->io_s;
}

}  // namespace omnio::procurement
