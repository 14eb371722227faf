#include "procurement/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "core/base/csv.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/model/phase_series.hpp"
#include "ior_bridge/estimate.hpp"
#include "procurement/form.hpp"

namespace omnio::procurement {
namespace {

// Bytes that were moved in a time.
struct Transfer {
  double mib = 0;
  double seconds = 0;

  std::optional<double> shareOf(double peak_mib_s) const {
    if (!(mib > 0)) return std::nullopt;
    return mib / std::max(seconds, base::kShortest) / peak_mib_s;
  }
};

struct Transfers {
  Transfer write;
  Transfer read;

  void add(const Transfers& other) {
    write = {.mib = write.mib + other.write.mib, .seconds = write.seconds + other.write.seconds};
    read = {.mib = read.mib + other.read.mib, .seconds = read.seconds + other.read.seconds};
  }
  PeakShare shareOf(const Peak& peak) const {
    return {.write = write.shareOf(peak.write_mib_s), .read = read.shareOf(peak.read_mib_s)};
  }
};

// Bytes and seconds of a phase. Writes or reads without a time of their own are left out.
Transfers movedIn(const model::Phase& phase, const PhaseTimes& times) {
  Transfers moved;
  for (const model::PhaseOperation& operation : phase.operations) {
    const bool is_write = operation.operation == model::Operation::kWrite;
    const std::vector<double>& seconds = is_write ? times.write_s : times.read_s;
    if (seconds.empty()) continue;
    Transfer& into = is_write ? moved.write : moved.read;
    into.mib += static_cast<double>(model::weightOf(phase, operation)) / model::kMiB;
    into.seconds = measureOf(seconds).middle;
  }
  return moved;
}

std::optional<ior::SummaryRun> partsOf(const Candidate& candidate) {
  if (candidate.runs.empty() || candidate.runs.size() != candidate.io_s.size()) return {};
  ior::SummaryRun result;
  for (const auto part :
       {&ior::SummaryRun::data_s, &ior::SummaryRun::metadata_s, &ior::SummaryRun::sync_s,
        &ior::SummaryRun::waiting_s, &ior::SummaryRun::sum_s}) {
    std::vector<double> values;
    for (const ior::SummaryRun& run : candidate.runs) values.push_back(run.*part);
    result.*part = ior::spreadOf(std::move(values)).median;
  }
  std::vector<double> chains;
  for (const ior::SummaryRun& run : candidate.runs) {
    if (run.chain_s) chains.push_back(*run.chain_s);
  }
  if (chains.size() == candidate.runs.size())
    result.chain_s = ior::spreadOf(std::move(chains)).median;
  return result;
}

double secondsOf(const event::IoTime& io) { return static_cast<double>(io.total()) / kNsInSecond; }

std::optional<double> applicationTime(const model::PhaseModel& model, TimeKind kind) {
  double seconds = 0;
  if (kind == TimeKind::kRun) return std::nullopt;  // a model does not have it
  if (kind == TimeKind::kTogether) {
    seconds = secondsOf(model.io);
  } else {
    // Metadata phases are not run one by one.
    for (const model::Phase& phase : model.phases) {
      if (!phase.isMetadata()) seconds += secondsOf(phase.io);
    }
  }
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

// The times of all phases together, run by run; empty where a phase has none or another number.
std::vector<double> sumsOf(const Candidate& candidate, const model::Series& phases,
                           std::vector<double> PhaseTimes::*part) {
  std::vector<double> sums;
  for (const model::Phase* phase : phases) {
    const auto times = candidate.phases.find(phase->id);
    if (times == candidate.phases.end()) return {};
    const std::vector<double>& own = times->second.*part;
    if (phase == phases.front()) sums.resize(own.size(), 0);
    if (own.size() != sums.size()) return {};
    for (std::size_t run = 0; run < sums.size(); ++run) sums[run] += own[run];
  }
  return sums;
}

void setSpread(const std::vector<double>& times, ComparedCandidate& into) {
  into.median_s = base::medianOf(times);
  if (times.size() < 2) return;
  const auto [least, most] = std::ranges::minmax(times);
  const double median_s = std::max(into.median_s, base::kShortest);
  into.spread = std::max(most - median_s, median_s - least) / median_s;
}

// The run whose course stands for all: the one with the median time, where each run has one.
std::size_t courseRunOf(const Candidate& candidate) {
  std::vector<std::size_t> runs(candidate.evidence.size());
  std::iota(runs.begin(), runs.end(), 0);
  if (runs.size() == candidate.io_s.size())
    std::ranges::stable_sort(runs, {}, [&](std::size_t run) { return candidate.io_s[run]; });
  return runs[(runs.size() - 1) / 2];
}

// Adds what each candidate moved to `moved`, where that is wanted.
ComparedPhase comparedOf(const model::PhaseModel& model, const model::Series& phases,
                         const std::vector<ComparedCandidate>& ranking,
                         std::vector<Transfers>* moved) {
  const model::Phase& first = *phases.front();
  ComparedPhase compared{.phase = first.id, .ids = model::idsOf(phases)};
  double application_s = 0;
  for (const model::Phase* phase : phases) {
    compared.weight_bytes += phase->weight_bytes;
    compared.weight_operations += phase->metadata.operations;
    application_s += secondsOf(phase->io);
  }
  for (const model::PhaseOperation& operation : first.operations) {
    compared.operations.push_back(operation.operation);
  }
  const auto file = static_cast<std::size_t>(first.file);
  if (file < model.files.size()) compared.file = model.files[file].path;
  if (application_s > 0) compared.application_s = application_s;
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const Candidate& candidate = ranking[i].candidate;
    const auto measured = [&](std::vector<double> PhaseTimes::*part) {
      const std::vector<double> sums = sumsOf(candidate, phases, part);
      return sums.empty() ? std::nullopt : std::optional(measureOf(sums));
    };
    compared.times.push_back(measured(&PhaseTimes::all_s));
    compared.write_times.push_back(measured(&PhaseTimes::write_s));
    compared.read_times.push_back(measured(&PhaseTimes::read_s));
    compared.peak_share.emplace_back();
    if (!compared.times.back() || !candidate.peak) continue;
    Transfers here;
    for (const model::Phase* phase : phases) {
      here.add(movedIn(*phase, candidate.phases.at(phase->id)));
    }
    compared.peak_share.back() = here.shareOf(*candidate.peak);
    if (moved != nullptr) (*moved)[i].add(here);
  }
  return compared;
}

}  // namespace

std::string_view kindText(TimeKind kind) {
  if (kind == TimeKind::kRun) return "run times";
  return kind == TimeKind::kSum ? "sums over phases that were run one by one"
                                : "runs of all phases together";
}

bool setBesideSums(const model::PhaseModel& model, Candidate& candidate) {
  model::Series phases;
  for (const model::Phase& phase : model.phases) {
    if (!phase.isMetadata()) phases.push_back(&phase);
  }
  std::vector<double> sums =
      phases.empty() ? std::vector<double>() : sumsOf(candidate, phases, &PhaseTimes::all_s);
  if (sums.size() != candidate.io_s.size()) return false;
  candidate.io_s = std::move(sums);
  candidate.kind = TimeKind::kSum;
  candidate.runs.clear();
  candidate.is_summed = true;
  return true;
}

base::Result<void> setBeside(const model::PhaseModel& model, std::vector<Candidate>& candidates) {
  const auto is_sum = [](const Candidate& each) { return each.kind == TimeKind::kSum; };
  const auto sum = std::ranges::find_if(candidates, is_sum);
  for (Candidate& candidate : candidates) {
    if (sum == candidates.end() || is_sum(candidate)) continue;
    if (candidate.kind != TimeKind::kRun && setBesideSums(model, candidate)) continue;
    return base::failure(
        base::Code::kInvalid,
        "\"{}\" has {}, and \"{}\" has no times of all phases to be summed up beside them",
        base::printable(sum->name), kindText(TimeKind::kSum), base::printable(candidate.name));
  }
  return {};
}

Comparison compare(const model::PhaseModel& model, std::vector<Candidate> candidates,
                   const std::optional<Rounds>& rounds) {
  Comparison result;
  result.rounds = rounds;
  result.source = model.source;
  result.source_whole = model.source_whole;
  for (const model::Phase& phase : model.phases) {
    result.weight_bytes += phase.weight_bytes;
    result.weight_operations += phase.metadata.operations;
    result.calls += phase.metadata.operations;
    for (const model::PhaseOperation& operation : phase.operations) {
      result.calls += model::requestsOf(phase, operation);
    }
  }
  result.processes = model.processes;
  result.kind = candidates.front().kind.value_or(TimeKind::kTogether);
  result.application_s = applicationTime(model, result.kind);
  const double level = rounds ? rounds->levelOf(candidates.size())
                              : base::levelOfPair(candidates.size() * (candidates.size() - 1) / 2);
  for (Candidate& candidate : candidates) {
    result.order.push_back(candidate.name);
    ComparedCandidate& compared = result.ranking.emplace_back();
    compared.io_s = measureOf(candidate.io_s);
    compared.bandwidth_mib_s = static_cast<double>(result.weight_bytes) / model::kMiB /
                               std::max(compared.io_s.middle, base::kShortest);
    compared.parts = partsOf(candidate);
    setSpread(candidate.io_s, compared);
    double longest = 0;
    for (const auto& [phase, times] : candidate.phases) {
      if (times.all_s.empty()) continue;
      const double middle = measureOf(times.all_s).middle;
      if (middle <= longest) continue;
      longest = middle;
      compared.slowest_phase = phase;
    }
    compared.candidate = std::move(candidate);
  }
  std::ranges::stable_sort(result.ranking, {},
                           [](const ComparedCandidate& c) { return c.io_s.middle; });
  const Candidate& best = result.ranking.front().candidate;
  for (ComparedCandidate& compared : result.ranking) {
    const bool is_paired = rounds && !compared.candidate.is_elsewhere && !best.is_elsewhere;
    const auto ratio_of = is_paired ? base::ratioByRounds : base::ratioOf;
    compared.to_best = ratio_of(compared.candidate.io_s, best.io_s, level);
    const bool is_best = &compared == &result.ranking.front();
    if (is_best) continue;
    (compared.to_best.isSlower() ? result.slower : result.not_told_apart)
        .push_back(compared.candidate.name);
  }
  if (result.not_told_apart.empty() && result.ranking.size() > 1)
    result.winner = result.ranking.front().candidate.name;
  std::vector<Transfers> moved(result.ranking.size());
  for (const model::Phase& phase : model.phases) {
    result.phases.push_back(comparedOf(model, {&phase}, result.ranking, &moved));
  }
  for (const model::Series& family : model::seriesOf(model)) {
    result.families.push_back(comparedOf(model, family, result.ranking, nullptr));
  }
  for (std::size_t i = 0; i < result.ranking.size(); ++i) {
    const auto& peak = result.ranking[i].candidate.peak;
    if (peak) result.ranking[i].peak_share = moved[i].shareOf(*peak);
  }
  return result;
}

namespace {

std::string secondsText(double seconds) { return fmt::format("{:.6g}", seconds); }

// How sure the intervals of the ratios are, all of them together.
int ratioPercentOf(const Comparison& comparison) { return comparison.rounds ? 99 : 95; }

std::string rangeText(const std::optional<Interval>& interval) {
  if (!interval) return "1 run";
  constexpr double kOpen = 1000;
  if (interval->most > kOpen * interval->least && interval->least > 0) return "open";
  return fmt::format("{} .. {}", secondsText(interval->least), secondsText(interval->most));
}

// The phases that take longest with any candidate.
std::set<int> longest(const std::vector<ComparedPhase>& phases, std::size_t rows) {
  std::vector<std::pair<double, int>> order;
  for (const ComparedPhase& phase : phases) {
    double most = 0;
    for (const auto& time : phase.times) most = std::max(most, time ? time->middle : 0);
    order.emplace_back(-most, phase.phase);
  }
  std::ranges::sort(order);
  std::set<int> result;
  for (const auto& [time, phase] : order) {
    if (result.size() < rows) result.insert(phase);
  }
  return result;
}

}  // namespace

std::string verdictOf(const Comparison& comparison) {
  const std::string first = comparison.ranking.front().candidate.name;
  if (comparison.ranking.size() == 1) {
    return fmt::format("{} is alone: there is nothing to compare it with", base::printable(first));
  }
  if (comparison.winner) return fmt::format("{} is the fastest", base::printable(first));
  const auto namesOf = [](const std::vector<std::string>& names) {
    std::vector<std::string> printable;
    for (const std::string& name : names) printable.push_back(base::printable(name));
    return fmt::format("{}", fmt::join(printable, ", "));
  };
  const bool is_short_of_runs = std::ranges::any_of(
      comparison.ranking,
      [](const ComparedCandidate& candidate) { return candidate.io_s.runs < 2; });
  const bool is_one = comparison.slower.size() == 1;
  return fmt::format(
      "no winner: {} cannot be told from {}{}{}", base::printable(first),
      namesOf(comparison.not_told_apart),
      comparison.slower.empty()
          ? ""
          : fmt::format("; {} {} slower", namesOf(comparison.slower), is_one ? "is" : "are"),
      is_short_of_runs ? "; of one run it is not known how much others differ" : "");
}

std::string_view kindWord(TimeKind kind) {
  if (kind == TimeKind::kRun) return "run times";
  return kind == TimeKind::kSum ? "the sum over the phases" : "runs of all phases together";
}

storage::MeasuredUntil measuredUntil(const Comparison& comparison) {
  return comparison.kind == TimeKind::kRun ? storage::MeasuredUntil::kSync
                                           : storage::MeasuredUntil::kLastCall;
}

std::vector<std::string> warningsOf(const Comparison& comparison) {
  std::vector<std::string> warnings;
  if (!comparison.source_whole) {
    warnings.emplace_back("the model was made from a trace that is not whole");
  }
  const storage::MeasuredUntil until = measuredUntil(comparison);
  for (const ComparedCandidate& each : comparison.ranking) {
    const std::vector<RunEvidence>& runs = each.candidate.evidence;
    const std::string name = base::printable(each.candidate.name);
    if (measuredPartOf(runs, until) == storage::MeasuredPart::kMemory)
      warnings.push_back(fmt::format("{} is {}", name, measuredSentence(runs, until)));
    const auto differing = std::ranges::count_if(
        runs, [](const RunEvidence& run) { return run.differences.value_or(0) > 0; });
    if (differing > 0) {
      warnings.push_back(fmt::format("{}: in {} of {} results of calls differ from the recording",
                                     name, differing, base::counted(runs.size(), "run", "runs")));
    }
    // Lateness is not in the I/O time.
    const auto late = std::ranges::count_if(runs, &RunEvidence::is_late);
    if (late == 0 || comparison.kind != TimeKind::kRun) continue;
    warnings.push_back(fmt::format(
        "{}: in {} of {} the replayer itself was late, and the run time says little of the storage",
        name, late, base::counted(runs.size(), "run", "runs")));
  }
  return warnings;
}

std::vector<std::string> notesOf(const Comparison& comparison) {
  std::vector<std::string> notes;
  if (!comparison.projection.empty()) notes.push_back(comparison.projection);
  const auto elsewhere = std::ranges::count_if(
      comparison.ranking,
      [](const ComparedCandidate& each) { return each.candidate.is_elsewhere; });
  if (comparison.rounds && comparison.ranking.size() > 1) {
    const auto [least, most] = std::pair(comparison.rounds->least, comparison.rounds->most);
    notes.push_back(fmt::format(
        "the rule was fixed before: {} rounds of a run on each candidate{}; among equal candidates "
        "a "
        "winner is named in at most 1 evaluation of {:.0f}{}",
        least, least < most ? fmt::format(", and up to {} while there is not a winner", most) : "",
        1 / kWrongWinner,
        elsewhere > 0 ? ", but for differences between the sites and hours of candidates elsewhere"
                      : ""));
  }
  if (comparison.kind == TimeKind::kSum) {
    std::vector<std::string> summed;
    for (const ComparedCandidate& each : comparison.ranking) {
      if (each.candidate.is_summed) summed.push_back(base::printable(each.candidate.name));
    }
    notes.push_back(
        summed.empty()
            ? std::string("I/O times are sums over the phases, which were run one by one")
            : fmt::format("I/O times are sums over the phases, also of {}, since others ran them "
                          "one by one",
                          fmt::join(summed, ", ")));
    if (comparison.weight_operations > 0) {
      notes.push_back(
          fmt::format("they are without {} metadata calls, which run in phases of their "
                      "own",
                      comparison.weight_operations));
    }
  }
  if (comparison.application_s) {
    notes.push_back(
        fmt::format("the application took {} s where it was recorded (one run{})",
                    secondsText(*comparison.application_s),
                    comparison.kind == TimeKind::kSum ? "; the sum over its phases" : ""));
  }
  for (std::size_t i = 0; i < comparison.ranking.size(); ++i) {
    if (comparison.phases.empty()) break;
    const bool has_phases = std::ranges::any_of(
        comparison.phases, [i](const ComparedPhase& phase) { return phase.times[i].has_value(); });
    if (has_phases) continue;
    notes.push_back(fmt::format("{} has no times of single phases",
                                base::printable(comparison.ranking[i].candidate.name)));
  }
  return notes;
}

namespace {

// A row for each candidate whose runs have parts.
std::string partsTable(const Comparison& comparison) {
  std::vector<std::vector<std::string>> table = {
      {"medians, s", "data", "metadata", "sync", "waiting", "sum", "chain", ""}};
  for (const ComparedCandidate& each : comparison.ranking) {
    if (!each.parts) continue;
    const ior::SummaryRun& parts = *each.parts;
    table.push_back({base::printable(each.candidate.name), secondsText(parts.data_s),
                     secondsText(parts.metadata_s), secondsText(parts.sync_s),
                     secondsText(parts.waiting_s), secondsText(parts.sum_s),
                     parts.chain_s ? secondsText(*parts.chain_s) : "-", ""});
  }
  if (table.size() == 1) return {};
  std::string out = "\n";
  base::appendTable(out, table, base::Align::kRight);
  return out;
}

// A row for each candidate whose runs say what their storage did: medians of the runs.
std::string storageTable(const Comparison& comparison) {
  std::vector<std::vector<std::string>> table = {{"storage, medians", "calls wrote", "calls read",
                                                  "storage wrote", "storage read", "with sync",
                                                  "busiest device", "free at the end", ""}};
  for (const ComparedCandidate& each : comparison.ranking) {
    const std::vector<RunEvidence>& runs = each.candidate.evidence;
    if (runs.empty()) continue;
    const EvidenceMedians medians = mediansOf(runs);
    const auto bytes = [](std::uint64_t value) {
      return base::humanBytes(static_cast<double>(value));
    };
    std::vector<std::string>& row = table.emplace_back();
    row = {base::printable(each.candidate.name), bytes(medians.calls.written_bytes),
           bytes(medians.calls.read_bytes)};
    if (measuredPartOf(runs, measuredUntil(comparison)) != storage::MeasuredPart::kUnknown) {
      row.push_back(bytes(medians.device.written_bytes));
      row.push_back(bytes(medians.device.read_bytes));
      row.push_back(bytes(medians.device_with_sync.written_bytes));
      row.push_back(fmt::format("{:.0f} %", 100 * medians.busy));
    } else {
      row.insert(row.end(), {"not counted", "", "", ""});
    }
    const double capacity = static_cast<double>(runs.back().capacity_bytes);
    row.push_back(
        capacity > 0 ? fmt::format("{:.0f} % of {}",
                                   100 * static_cast<double>(runs.back().free_end_bytes) / capacity,
                                   base::humanBytes(capacity))
                     : "-");
    row.emplace_back();
  }
  if (table.size() == 1) return {};
  std::string out = "\n";
  base::appendTable(out, table, base::Align::kRight);
  return out;
}

std::string percentText(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f}", 100 * *share) : "-";
}

// A row for each phase that is shown, and one for all; columns for the candidates with a peak.
std::string peakTable(const Comparison& comparison, const std::vector<ComparedPhase>& phases,
                      const std::set<int>& shown) {
  std::vector<std::string> heading = {"share of peak, %"};
  std::vector<std::string> all = {"all phases"};
  std::vector<std::string> peaks = {"peak, MiB/s"};
  for (const ComparedCandidate& each : comparison.ranking) {
    if (!each.candidate.peak) continue;
    heading.push_back(base::printable(each.candidate.name) + " write");
    heading.emplace_back("read");
    all.push_back(percentText(each.peak_share.write));
    all.push_back(percentText(each.peak_share.read));
    peaks.push_back(fmt::format("{:.1f}", each.candidate.peak->write_mib_s));
    peaks.push_back(fmt::format("{:.1f}", each.candidate.peak->read_mib_s));
  }
  if (heading.size() == 1) return {};
  std::vector<std::vector<std::string>> table = {std::move(heading)};
  for (const ComparedPhase& phase : phases) {
    if (!shown.contains(phase.phase)) continue;
    std::vector<std::string>& row = table.emplace_back();
    row.push_back(fmt::format("phase {}", phase.ids));
    for (std::size_t i = 0; i < comparison.ranking.size(); ++i) {
      if (!comparison.ranking[i].candidate.peak) continue;
      row.push_back(percentText(phase.peak_share[i].write));
      row.push_back(percentText(phase.peak_share[i].read));
    }
  }
  table.push_back(std::move(all));
  table.push_back(std::move(peaks));
  for (auto& row : table) row.emplace_back();  // the last column is text, and all of these are not
  std::string out = "\n";
  base::appendTable(out, table, base::Align::kRight);
  return out;
}

}  // namespace

std::string textOf(const Comparison& comparison, std::size_t rows, bool is_each) {
  std::string out;
  if (comparison.rounds) out = verdictOf(comparison) + "\n\n";  // the answer of an evaluation
  std::vector<std::vector<std::string>> table = {
      {"candidate", "runs", comparison.kind == TimeKind::kRun ? "run time s" : "I/O time s", "95 %",
       "MiB/s", "times the best", fmt::format("{} %", ratioPercentOf(comparison)),
       "slowest phase"}};
  for (const ComparedCandidate& each : comparison.ranking) {
    const bool is_best = &each == &comparison.ranking.front();
    table.push_back(
        {base::printable(each.candidate.name), std::to_string(each.io_s.runs),
         secondsText(each.io_s.middle), rangeText(each.io_s.interval),
         comparison.weight_bytes == 0 ? "-" : fmt::format("{:.1f}", each.bandwidth_mib_s),
         is_best ? "1" : fmt::format("{:.3f}", each.to_best.middle),
         is_best ? "" : rangeText(each.to_best.interval),
         each.slowest_phase ? std::to_string(*each.slowest_phase) : "-"});
  }
  base::appendTable(out, table, base::Align::kRight);
  out += '\n';
  if (!comparison.rounds) out += verdictOf(comparison) + '\n';
  for (const std::string& warning : warningsOf(comparison)) out += warning + '\n';
  for (const std::string& note : notesOf(comparison)) out += note + '\n';
  out += partsTable(comparison) + storageTable(comparison);

  const std::vector<ComparedPhase>& phases = is_each ? comparison.phases : comparison.families;
  const std::set<int> shown = longest(phases, rows);
  table = {{"phase", "MiB"}};
  for (const ComparedCandidate& each : comparison.ranking) {
    table.front().push_back(base::printable(each.candidate.name) + " s");
    table.front().push_back("95 %");
  }
  for (const ComparedPhase& phase : phases) {
    if (!shown.contains(phase.phase)) continue;
    std::vector<std::string> row = {
        phase.ids,
        phase.weight_operations > 0
            ? fmt::format("{} calls", phase.weight_operations)
            : fmt::format("{:.3f}", static_cast<double>(phase.weight_bytes) / model::kMiB)};
    for (std::size_t i = 0; i < comparison.ranking.size(); ++i) {
      const auto& time = phase.times[i];
      row.push_back(time ? secondsText(time->middle) : "-");
      row.push_back(time ? rangeText(time->interval) : "-");
    }
    table.push_back(std::move(row));
  }
  out += '\n';
  base::appendTable(out, table, base::Align::kRight);
  if (shown.size() < phases.size()) {
    out += fmt::format("and {} {} that take less time ({})\n", phases.size() - shown.size(),
                       is_each ? "phases" : "families of phases",
                       comparison.rounds ? "--json has all" : "--all");
  }
  return out + peakTable(comparison, phases, shown);
}

namespace {

constexpr int kComparisonVersion = 2;

void putInterval(base::JsonWriter& json, const std::optional<Interval>& interval,
                 int percent = 95) {
  json.key(fmt::format("interval_{}", percent));
  if (!interval) return json.null();
  json.value(std::vector{interval->least, interval->most});
}

void putMeasure(base::JsonWriter& json, const Measure& measure) {
  json.put("runs", measure.runs);
  json.put("middle", measure.middle);
  putInterval(json, measure.interval);
}

void putShare(base::JsonWriter& json, const PeakShare& share) {
  json.object("peak_share", [&] {
    json.put("write", share.write);
    json.put("read", share.read);
  });
}

void putTime(base::JsonWriter& json, std::string_view name, const std::optional<Measure>& time) {
  if (time) json.object(name, [&] { putMeasure(json, *time); });
}

constexpr base::Word<Origin> kOrigins[] = {{Origin::kApplication, "application"},
                                           {Origin::kReplay, "replay"},
                                           {Origin::kPhaseRun, "phase run"},
                                           {Origin::kIor, "ior"}};

void putCandidate(base::JsonWriter& json, const ComparedCandidate& each,
                  const Comparison& comparison) {
  json.put("name", base::printable(each.candidate.name));
  json.put("target", base::printable(each.candidate.target));
  json.list("origins", each.candidate.origins,
            [&](Origin origin) { json.value(base::wordOf(kOrigins, origin)); });
  json.list("sources", each.candidate.sources,
            [&](const std::string& source) { json.value(base::printable(source)); });
  json.object("io_s", [&] { putMeasure(json, each.io_s); });
  json.put("times_s", each.candidate.io_s);
  json.put("median_s", each.median_s);
  json.put("spread", each.spread);
  if (!each.candidate.run_s.empty()) {
    json.object("run_s", [&] { putMeasure(json, measureOf(each.candidate.run_s)); });
  }
  json.put("bandwidth_mib_s", each.bandwidth_mib_s);
  json.object("times_the_best", [&] {
    json.put("middle", each.to_best.middle);
    putInterval(json, each.to_best.interval, ratioPercentOf(comparison));
  });
  json.put("slowest_phase", each.slowest_phase);
  if (const std::vector<RunEvidence>& runs = each.candidate.evidence; !runs.empty()) {
    const storage::MeasuredUntil until = measuredUntil(comparison);
    json.object("evidence_of_all", [&] {
      json.put("measured", base::wordOf(storage::kMeasuredParts, measuredPartOf(runs, until)));
      json.put("sentence", measuredSentence(runs, until));
      putMedians(json, mediansOf(runs));
      json.put("course_run", courseRunOf(each.candidate));
    });
    json.list("evidence", runs,
              [&](const RunEvidence& run) { json.object([&] { putEvidence(json, run); }); });
  }
  if (const auto& parts = each.parts) {
    json.object("parts", [&] {
      json.put("data_s", parts->data_s);
      json.put("metadata_s", parts->metadata_s);
      json.put("sync_s", parts->sync_s);
      json.put("waiting_s", parts->waiting_s);
      json.put("sum_s", parts->sum_s);
      json.put("chain_s", parts->chain_s);
    });
  }
  if (const auto& peak = each.candidate.peak) {
    json.object("peak", [&] {
      json.put("write_mib_s", peak->write_mib_s);
      json.put("read_mib_s", peak->read_mib_s);
      if (!peak->source.empty()) json.put("source", base::printable(peak->source));
    });
    putShare(json, each.peak_share);
  }
}

// The members that the document and the data of the page have in common. Phases that `shown` does
// not have are left out.
void putComparison(base::JsonWriter& json, const Comparison& comparison,
                   const std::set<int>& shown) {
  json.put("source", comparison.source);
  json.put("weight_bytes", comparison.weight_bytes);
  if (comparison.weight_operations > 0) json.put("weight_operations", comparison.weight_operations);
  json.put("by", kindWord(comparison.kind));
  json.key("rounds");
  if (comparison.rounds) {
    json.object([&] {
      json.put("least", comparison.rounds->least);
      json.put("most", comparison.rounds->most);
      json.put("wrong_winner", kWrongWinner);
    });
  } else {
    json.null();
  }
  json.put("winner", comparison.winner);
  json.put("not_told_apart", comparison.not_told_apart);
  json.put("slower", comparison.slower);
  json.put("verdict", verdictOf(comparison));
  json.put("warnings", warningsOf(comparison));
  json.put("notes", notesOf(comparison));
  json.put("application_s", comparison.application_s);
  json.list("ranking", comparison.ranking, [&](const ComparedCandidate& each) {
    json.object([&] { putCandidate(json, each, comparison); });
  });
  json.key("phases");
  json.beginList();
  for (const ComparedPhase& phase : comparison.phases) {
    if (!shown.contains(phase.phase)) continue;
    json.object([&] {
      json.put("phase", phase.phase);
      json.put("weight_bytes", phase.weight_bytes);
      std::vector<std::string_view> operations;
      for (const auto operation : phase.operations) operations.push_back(model::nameOf(operation));
      if (phase.weight_operations > 0) {
        json.put("weight_operations", phase.weight_operations);
        operations.push_back(model::kMetadataName);
      }
      json.put("operations", operations);
      json.put("file", phase.file);
      json.put("application_s", phase.application_s);
      json.key("candidates");
      json.beginList();
      for (std::size_t i = 0; i < comparison.ranking.size(); ++i) {
        json.object([&] {
          json.put("name", base::printable(comparison.ranking[i].candidate.name));
          if (!phase.times[i]) return;
          putTime(json, "time_s", phase.times[i]);
          putTime(json, "write_s", phase.write_times[i]);
          putTime(json, "read_s", phase.read_times[i]);
          if (comparison.ranking[i].candidate.peak) putShare(json, phase.peak_share[i]);
        });
      }
      json.endList();
    });
  }
  json.endList();
}

}  // namespace

std::string jsonOf(const Comparison& comparison) {
  const std::set<int> all = longest(comparison.phases, comparison.phases.size());
  return base::jsonDocument("omnio-comparison", kComparisonVersion, {.indent = 2},
                            [&](auto& json) { putComparison(json, comparison, all); });
}

std::string pageDataOf(const Comparison& comparison, const PageAbout& about) {
  const std::set<int> shown = longest(comparison.phases, kMostPagePhases);
  return base::jsonDocument("omnio-comparison-page", 1, {}, [&](base::JsonWriter& json) {
    json.put("omnio", about.version);
    json.put("made", about.made);
    json.put("model", base::printable(about.model));
    json.put("all_command", base::printable(about.all_command));
    json.key("projections");
    json.verbatim(about.projections.empty() ? "null" : about.projections);
    putComparison(json, comparison, shown);
    json.put("phases_left_out", comparison.phases.size() - shown.size());
    json.put("notes_beside", about.notes);
    json.put("spread_limit", kSpreadLimit);
    json.put("ratio_percent", ratioPercentOf(comparison));
    json.list("form", formOf(comparison), [&](const FormRow& row) {
      json.object([&] {
        json.put("field", row.field);
        json.put("cells", row.cells);
      });
    });
  });
}

namespace {

void addRow(std::string& out, const Candidate& candidate, const std::string& phase,
            std::uint64_t bytes, const Measure& time, const PeakShare& share) {
  out += fmt::format("{},{},{},{},{:.9g}", base::csvCell(base::printable(candidate.name)), phase,
                     bytes, time.runs, time.middle);
  out += time.interval ? fmt::format(",{:.9g},{:.9g}", time.interval->least, time.interval->most)
                       : std::string(",,");
  for (const auto& part : {share.write, share.read}) {
    out += part ? fmt::format(",{:.6g}", *part) : std::string(",");
  }
  out += base::kCsvLineEnd;
}

}  // namespace

std::string csvOf(const Comparison& comparison) {
  std::string out;
  base::appendCsvLine(out, {"candidate", "phase", "weight_bytes", "runs", "time_s", "least_95",
                            "most_95", "write_peak_share", "read_peak_share"});
  for (std::size_t i = 0; i < comparison.ranking.size(); ++i) {
    const ComparedCandidate& each = comparison.ranking[i];
    addRow(out, each.candidate, "total", comparison.weight_bytes, each.io_s, each.peak_share);
    for (const ComparedPhase& phase : comparison.phases) {
      if (phase.times[i]) {
        addRow(out, each.candidate, std::to_string(phase.phase), phase.weight_bytes,
               *phase.times[i], phase.peak_share[i]);
      }
    }
  }
  return out;
}

}  // namespace omnio::procurement
