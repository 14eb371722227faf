#include "ior_bridge/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"
#include "core/model/phase_series.hpp"
#include "ior_bridge/ior/emit.hpp"
#include "ior_bridge/ior/family_rate.hpp"
#include "ior_bridge/ior/mdtest.hpp"
#include "ior_bridge/ior/plan_results.hpp"

namespace omnio::ior {
namespace {

using model::kMiB;
constexpr double kNsPerSecond = 1e9;

// All that was measured of one phase.
struct Measured {
  bool by_ior = false;  // or by mdtest: one run of a family of phases
  Bandwidths bandwidth_mib_s;
  std::vector<double> operations_per_s;
  std::vector<std::string> sources;
  std::vector<std::string> notes;
};

void addOnce(std::vector<std::string>& list, std::string value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(std::move(value));
}

// A benchmark that did something else than the phase was perhaps made for another one.
void noteDifferences(const model::Phase& phase, const SummaryTest& test, const std::string& name,
                     std::vector<std::string>& notes) {
  if (test.tasks && *test.tasks != phase.ranks.size()) {
    addOnce(notes, fmt::format("{}: run with {} tasks, the phase has {} processes", name,
                               *test.tasks, phase.ranks.size()));
  }
  if (!test.transfer_bytes || phase.isMetadata()) return;
  const auto same = [&](const model::PhaseOperation& o) {
    return o.request_bytes == *test.transfer_bytes;
  };
  if (std::none_of(phase.operations.begin(), phase.operations.end(), same)) {
    addOnce(notes, fmt::format("{}: run with transfers of {} bytes, the phase's are of {}", name,
                               *test.transfer_bytes, phase.operations.front().request_bytes));
  }
}

PhaseEstimate estimateOf(const model::Phase& phase, const Measured& measured) {
  PhaseEstimate result;
  result.phase = phase.id;
  result.weight_bytes = phase.weight_bytes;
  result.measured_s = static_cast<double>(phase.io.total()) / kNsPerSecond;
  result.sources = measured.sources;
  result.notes = measured.notes;
  result.calls = phase.calls;
  if (phase.isMetadata()) {
    result.weight_operations = phase.metadata.operations;
    result.iterations = measured.operations_per_s.size();
    result.operations_per_s = spreadOf(measured.operations_per_s);
    std::vector<double> times;
    for (const double rate : measured.operations_per_s) {
      times.push_back(static_cast<double>(result.weight_operations) / rate);
    }
    result.time_s = spreadOf(std::move(times));
    return result;
  }
  for (const model::PhaseOperation& operation : phase.operations) {
    const std::vector<double>& bandwidths = measured.bandwidth_mib_s.of(operation.operation);
    OperationEstimate o;
    o.operation = operation.operation;
    o.weight_bytes = model::weightOf(phase, operation);
    o.bandwidth_mib_s = spreadOf(bandwidths);
    std::vector<double> times;
    for (const double bandwidth : bandwidths) {
      times.push_back(static_cast<double>(o.weight_bytes) / kMiB / bandwidth);
    }
    o.time_s = spreadOf(times);
    result.time_s.add(o.time_s);
    result.iterations = result.operations.empty() ? bandwidths.size()
                                                  : std::min(result.iterations, bandwidths.size());
    result.operations.push_back(o);
  }
  return result;
}

// The results so far.
struct Gathered {
  std::map<int, Measured> phases;
  std::vector<SummaryRun> runs;
  std::string target;
  std::string first;  // the file that named it
};

base::Result<void> takeTarget(const std::string& target, const std::string& name,
                              Gathered& gathered) {
  if (target.empty()) return {};
  if (gathered.target.empty()) {
    gathered.target = target;
    gathered.first = name;
  }
  if (gathered.target == target) return {};
  return base::failure(base::Code::kInvalid,
                       "{}: results of {}, and those of {} are of {}: one estimate is of one "
                       "target",
                       name, base::printable(target), gathered.first,
                       base::printable(gathered.target));
}

// The family that a phase of the model is of.
model::Series familyOf(const model::PhaseModel& model, int phase) {
  for (model::Series& family : model::seriesOf(model)) {
    if (std::ranges::find(family, phase, &model::Phase::id) != family.end()) {
      return std::move(family);
    }
  }
  return {};
}

// What mdtest printed for a metadata phase: the mean over its iterations, the least and the most. A
// step takes its items over its rate, and the times of all steps add.
base::Result<void> takeMdtest(const model::PhaseModel& model, const GivenResult& given,
                              Gathered& gathered) {
  const base::Result<MdtestSummary> summary = readMdtest(given.path);
  if (!summary) return summary.failure();
  const std::string name = base::printable(given.path.native());
  const std::optional<int> id = given.phase ? given.phase : phaseOfName(given.path);
  const auto phase = std::ranges::find_if(
      model.phases, [&](const model::Phase& each) { return id && each.id == *id; });
  if (phase == model.phases.end() || !phase->isMetadata()) {
    return base::failure(base::Code::kInvalid,
                         "{}: a result of mdtest, and {}: give it as ID={}, with a metadata phase",
                         name,
                         id ? fmt::format("phase {} is none of metadata", *id)
                            : std::string("its name does not say of which phase"),
                         name);
  }
  const MdtestPlan plan = mdtestFor(model, *phase, 1);
  Spread time_s;
  for (const MdtestStep& step : plan.run.steps) {
    const auto rate = summary->rates.find(step.row);
    if (rate == summary->rates.end()) {
      return base::failure(base::Code::kInvalid, "{}: it has no rate of \"{}\", a step of phase {}",
                           name, step.row, phase->id);
    }
    const auto items = static_cast<double>(step.items);
    time_s.add({.median = items / rate->second.mean,
                .least = items / rate->second.most,
                .most = items / rate->second.least});
  }
  if (plan.run.steps.empty()) {
    return base::failure(base::Code::kInvalid, "{}: phase {} has no step of mdtest", name,
                         phase->id);
  }
  Measured& into = gathered.phases[phase->id];
  into.by_ior = true;
  const auto calls = static_cast<double>(phase->metadata.operations);
  std::vector<double> rates = {calls / time_s.median};
  if (summary->iterations > 1) rates = {calls / time_s.most, rates[0], calls / time_s.least};
  into.operations_per_s.insert(into.operations_per_s.end(), rates.begin(), rates.end());
  addOnce(into.sources, name);
  for (const std::string& sentence : plan.approximations) addOnce(into.notes, sentence);
  return {};
}

// Takes the results of a plan: the summaries of IOR beside it, and the texts of mdtest that exist.
base::Result<void> takePlan(const model::PhaseModel& model, const std::filesystem::path& path,
                            Gathered& gathered) {
  const base::Result<PlanResults> results = readPlanResults(path, model);
  if (!results) return results.failure();
  const std::string name = base::printable(path.native());
  if (auto taken = takeTarget(results->target, name, gathered); !taken) return taken;
  for (const FamilyPlan& family : results->plan.families) {
    const model::Phase& first = *family.phases.front();
    if (family.mdtest) {
      const std::filesystem::path text = path.parent_path() / outputOf(*family.mdtest);
      if (std::error_code ignored; !std::filesystem::exists(text, ignored)) continue;
      if (auto taken = takeMdtest(model, {.path = text, .phase = first.id, .test = {}}, gathered);
          !taken) {
        return taken;
      }
      continue;
    }
    Measured& into = gathered.phases[first.id];
    into.by_ior = true;
    for (std::size_t i = 0; i < first.operations.size(); ++i) {
      const std::vector<double>& from = results->mib_s.at(first.id)[i];
      std::vector<double>& to = into.bandwidth_mib_s.of(first.operations[i].operation);
      to.insert(to.end(), from.begin(), from.end());
    }
    addOnce(into.sources, name);
    for (const std::string& sentence : family.approximations) addOnce(into.notes, sentence);
  }
  return {};
}

// IOR runs a family of phases once: its other phases have the same bandwidth.
void shareInFamilies(const std::vector<model::Series>& families, Gathered& gathered) {
  for (const model::Series& family : families) {
    const auto has = [&](const model::Phase* phase) { return gathered.phases.contains(phase->id); };
    const auto measured = std::ranges::find_if(family, has);
    if (measured == family.end() || !gathered.phases.at((*measured)->id).by_ior) continue;
    Measured shared = gathered.phases.at((*measured)->id);
    shared.notes.clear();
    for (const model::Phase* phase : family) gathered.phases.try_emplace(phase->id, shared);
  }
}

// Adds a summary to the phases that it is of.
base::Result<void> take(const model::PhaseModel& model, const GivenResult& given,
                        Gathered& gathered) {
  if (given.path.extension() == ".txt") return takeMdtest(model, given, gathered);
  if (memberOf(given.path, "format") == kPlanFormat) return takePlan(model, given.path, gathered);
  const base::Result<Summary> summary = readSummary(given.path);
  if (!summary) return summary.failure();
  const std::string name = base::printable(given.path.native());
  std::map<int, Measured>& measured = gathered.phases;
  if (!summary->of.model.empty() && summary->of.model != model::digestOf(model)) {
    return base::failure(base::Code::kInvalid, "{}: results of another model ({}; this one is {})",
                         name, base::inBrief(summary->of.model), model::digestOf(model));
  }
  if (auto taken = takeTarget(summary->of.target, name, gathered); !taken) return taken;
  if (summary->of.model.empty() && !given.phase) {
    const std::filesystem::path plan = given.path.parent_path() / "ior-plan.json";
    const std::string digest = memberOf(plan, "model");
    if (!digest.empty() && digest != model::digestOf(model)) {
      return base::failure(base::Code::kInvalid,
                           "{}: results of another plan: ior-plan.json beside it is of another "
                           "model ({}; this one is {})",
                           name, base::inBrief(digest), model::digestOf(model));
    }
  }
  gathered.runs.insert(gathered.runs.end(), summary->runs.begin(), summary->runs.end());
  bool any = false;
  for (const SummaryTest& test : summary->tests) {
    if (given.test && test.id != *given.test) continue;
    if (test.phase && given.phase && *test.phase != *given.phase) continue;
    any = true;
    std::optional<int> id = test.phase ? test.phase : given.phase;
    if (!id) id = phaseOfName(given.path);
    if (!id) {
      return base::failure(base::Code::kInvalid,
                           "{}: of which phase it is cannot be told: give it as ID={}", name, name);
    }
    const auto phase = std::ranges::find(model.phases, *id, &model::Phase::id);
    if (phase == model.phases.end()) {
      return base::failure(base::Code::kInvalid, "{}: it is of phase {}, which the model has not",
                           name, *id);
    }
    Measured& into = measured[*id];
    into.by_ior = summary->of.model.empty();
    Bandwidths found = test.bandwidth_mib_s;
    for (std::size_t i = 0; into.by_ior && i < phase->operations.size(); ++i) {
      found.of(phase->operations[i].operation) = bandwidthsOf(familyOf(model, *id), i, test);
    }
    for (const auto operation : {model::Operation::kWrite, model::Operation::kRead}) {
      const std::vector<double>& from = found.of(operation);
      std::vector<double>& to = into.bandwidth_mib_s.of(operation);
      to.insert(to.end(), from.begin(), from.end());
    }
    into.operations_per_s.insert(into.operations_per_s.end(), test.operations_per_s.begin(),
                                 test.operations_per_s.end());
    addOnce(into.sources, name);
    noteDifferences(*phase, test, name, into.notes);
  }
  if (any) return {};
  return base::failure(base::Code::kInvalid, "{}: it has no test {}{}", name,
                       given.test ? "" : "of phase ", given.test ? *given.test : *given.phase);
}

std::vector<double> valuesOf(const std::vector<SummaryRun>& runs, double SummaryRun::*value) {
  std::vector<double> values;
  for (const SummaryRun& run : runs) values.push_back(run.*value);
  return values;
}

WholeEstimate wholeOf(const std::vector<SummaryRun>& runs) {
  WholeEstimate whole{.runs = runs.size(),
                      .data_s = spreadOf(valuesOf(runs, &SummaryRun::data_s)),
                      .metadata_s = spreadOf(valuesOf(runs, &SummaryRun::metadata_s)),
                      .sync_s = spreadOf(valuesOf(runs, &SummaryRun::sync_s)),
                      .waiting_s = spreadOf(valuesOf(runs, &SummaryRun::waiting_s)),
                      .chain_s = {}};
  double sum = 0;
  double squares = 0;
  std::vector<double> chains;
  for (const SummaryRun& run : runs) {
    sum += run.io_s;
    squares += run.io_s * run.io_s;
    if (run.chain_s) chains.push_back(*run.chain_s);
    whole.differences = std::max(whole.differences, run.differences);
  }
  if (chains.size() == runs.size()) whole.chain_s = spreadOf(std::move(chains));
  const auto count = static_cast<double>(runs.size());
  const double mean = sum / count;
  if (runs.size() > 1 && mean > 0) {
    const double variance = std::max(0.0, squares - count * mean * mean) / (count - 1);
    whole.variation_percent = 100 * std::sqrt(variance) / mean;
  }
  return whole;
}

std::optional<int> numberIn(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

Spread spreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return {.median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2,
          .least = values.front(),
          .most = values.back()};
}

void Spread::add(const Spread& other) {
  median += other.median;
  least += other.least;
  most += other.most;
}

std::optional<double> IoTime::measuredBandwidth() const {
  if (!(measured_s > 0) || weight_bytes == 0) return std::nullopt;
  return static_cast<double>(weight_bytes) / kMiB / measured_s;
}

void IoTime::add(const IoTime& other) {
  weight_bytes += other.weight_bytes;
  weight_operations += other.weight_operations;
  time_s.add(other.time_s);
  measured_s += other.measured_s;
}

std::optional<double> IoTime::timeErrorPercent() const {
  if (!(measured_s > 0)) return std::nullopt;
  return 100 * (time_s.median - measured_s) / measured_s;
}

std::optional<double> PhaseEstimate::bandwidthErrorPercent() const {
  const std::optional<double> own = measuredBandwidth();
  if (!own || !(*own > 0) || !(time_s.median > 0)) return std::nullopt;
  const double characterised = static_cast<double>(weight_bytes) / kMiB / time_s.median;
  return 100 * std::abs(characterised - *own) / *own;
}

GivenResult givenResult(const std::string& word) {
  GivenResult given;
  std::string path = word;
  if (const std::size_t equals = word.find('='); equals != std::string::npos) {
    if (const auto id = numberIn(std::string_view(word).substr(0, equals))) {
      given.phase = id;
      path = word.substr(equals + 1);
    }
  }
  if (const std::size_t hash = path.rfind('#'); given.phase && hash != std::string::npos) {
    if (const auto test = numberIn(std::string_view(path).substr(hash + 1))) {
      given.test = test;
      path.resize(hash);
    }
  }
  given.path = path;
  return given;
}

std::optional<int> phaseOfName(const std::filesystem::path& path) {
  const std::string name = path.filename().native();
  constexpr std::string_view kBegin = "phase-";
  if (!name.starts_with(kBegin) || !(name.ends_with(".json") || name.ends_with(".txt"))) {
    return std::nullopt;
  }
  const std::size_t end = name.find_first_of("-.", kBegin.size());
  return numberIn(std::string_view(name).substr(kBegin.size(), end - kBegin.size()));
}

base::Result<Estimate> estimate(const model::PhaseModel& model,
                                const std::vector<GivenResult>& results) {
  Gathered gathered;
  for (const GivenResult& given : results) {
    if (const auto taken = take(model, given, gathered); !taken) return taken.failure();
  }
  const std::vector<model::Series> families = model::seriesOf(model);
  shareInFamilies(families, gathered);
  const std::map<int, Measured>& measured = gathered.phases;
  Estimate result;
  for (const model::Series& family : families) {
    std::vector<int>& ids =
        result.families.emplace_back(model::idsOf(family), std::vector<int>()).second;
    for (const model::Phase* phase : family) ids.push_back(phase->id);
  }
  result.source = model.source;
  result.target = gathered.target;
  result.application = model.io;
  result.application_chain_ns = model.chain_ns;
  for (const model::Phase& phase : model.phases) {
    const auto found = measured.find(phase.id);
    if (phase.isMetadata()) {
      if (found == measured.end() || found->second.operations_per_s.empty()) {
        result.missing_metadata.push_back(phase.id);
        continue;
      }
      result.sum.add(result.phases.emplace_back(estimateOf(phase, found->second)));
      continue;
    }
    const bool whole =
        found != measured.end() &&
        std::all_of(phase.operations.begin(), phase.operations.end(),
                    [&](const model::PhaseOperation& operation) {
                      return !found->second.bandwidth_mib_s.of(operation.operation).empty();
                    });
    if (!whole) {
      result.missing.push_back(phase.id);
      continue;
    }
    result.sum.add(result.phases.emplace_back(estimateOf(phase, found->second)));
  }
  if (result.phases.empty()) {
    std::ranges::move(result.missing_metadata, std::back_inserter(result.missing));
    result.missing_metadata.clear();
  }
  static_cast<IoTime&>(result) = result.sum;
  if (model.io.total() > 0) {
    result.measured_s = static_cast<double>(model.io.total()) / kNsPerSecond;
  }
  if (!gathered.runs.empty()) {
    result.whole = wholeOf(gathered.runs);
    result.time_s = spreadOf(valuesOf(gathered.runs, &SummaryRun::io_s));
  }
  return result;
}

namespace {

using base::JsonWriter;

std::optional<double> usagePercent(const IoTime& time, double peak_mib_s) {
  const std::optional<double> own = time.measuredBandwidth();
  return own ? std::optional(100 * *own / peak_mib_s) : std::nullopt;
}

constexpr int kEstimateVersion = 2;

void putSpread(JsonWriter& json, std::string_view name, const Spread& spread) {
  json.object(name, [&] {
    json.put("median", spread.median);
    json.put("min", spread.least);
    json.put("max", spread.most);
  });
}

// null where it was not measured.
void putMeasured(JsonWriter& json, const IoTime& time) {
  json.put("measured_s",
           time.measured_s > 0 ? std::optional(time.measured_s) : std::optional<double>());
}

void putPhase(JsonWriter& json, const PhaseEstimate& phase, std::optional<double> peak_mib_s) {
  json.object([&] {
    json.put("phase", phase.phase);
    json.put("weight_bytes", phase.weight_bytes);
    if (phase.weight_operations > 0) {
      json.put("weight_operations", phase.weight_operations);
      putSpread(json, "operations_per_s", phase.operations_per_s);
    }
    if (!phase.calls.empty()) {
      json.object("calls", [&] {
        for (const auto& [name, count] : phase.calls) json.put(name, count);
      });
    }
    json.put("iterations", phase.iterations);
    json.list("operations", phase.operations, [&](const OperationEstimate& o) {
      json.object([&] {
        json.put("operation", model::nameOf(o.operation));
        json.put("weight_bytes", o.weight_bytes);
        putSpread(json, "bandwidth_mib_s", o.bandwidth_mib_s);
        putSpread(json, "time_io_s", o.time_s);
      });
    });
    putSpread(json, "time_io_s", phase.time_s);
    putMeasured(json, phase);
    json.put("time_error_percent", phase.timeErrorPercent());
    json.put("bandwidth_error_percent", phase.bandwidthErrorPercent());
    if (peak_mib_s) json.put("usage_percent", usagePercent(phase, *peak_mib_s));
    json.put("results", phase.sources);
    json.put("notes", phase.notes);
  });
}

}  // namespace

std::string jsonOf(const Estimate& estimate, std::optional<double> peak_mib_s) {
  return base::jsonDocument("omnio-estimate", kEstimateVersion, {.indent = 2}, [&](auto& json) {
    json.put("source", estimate.source);
    json.list("phases", estimate.phases,
              [&](const PhaseEstimate& phase) { putPhase(json, phase, peak_mib_s); });
    json.put("missing", estimate.missing);
    json.put("missing_metadata", estimate.missing_metadata);
    if (!estimate.target.empty()) json.put("target", base::printable(estimate.target));
    json.object("total", [&] {
      json.put("weight_bytes", estimate.weight_bytes);
      json.put("weight_operations", estimate.weight_operations);
      json.put("by", estimate.whole ? "runs of all phases together" : "the sum over the phases");
      putSpread(json, "time_io_s", estimate.time_s);
      putMeasured(json, estimate);
      json.put("time_error_percent", estimate.timeErrorPercent());
      putSpread(json, "sum_s", estimate.sum.time_s);
    });
    if (const auto& whole = estimate.whole) {
      json.object("whole", [&] {
        json.put("runs", whole->runs);
        putSpread(json, "data_s", whole->data_s);
        putSpread(json, "metadata_s", whole->metadata_s);
        putSpread(json, "sync_s", whole->sync_s);
        putSpread(json, "waiting_s", whole->waiting_s);
        if (whole->chain_s) putSpread(json, "chain_s", *whole->chain_s);
        json.put("variation_percent", whole->variation_percent);
        json.put("differences", whole->differences);
      });
    }
    if (estimate.application.total() > 0) {
      const auto s = [](std::int64_t ns) { return static_cast<double>(ns) / kNsPerSecond; };
      json.object("application", [&] {
        json.put("data_s", s(estimate.application.data_ns));
        json.put("metadata_s", s(estimate.application.metadata_ns));
        json.put("sync_s", s(estimate.application.sync_ns));
        json.put("waiting_s", s(estimate.application.waiting_ns));
        if (estimate.application_chain_ns) json.put("chain_s", s(*estimate.application_chain_ns));
      });
    }
  });
}

namespace {

// A row of the table: a phase, or a family of phases.
struct Row {
  std::string name;
  std::vector<const PhaseEstimate*> phases;
  IoTime time;  // of all of them
};

std::vector<Row> rowsOf(const Estimate& estimate, bool is_each) {
  std::vector<Row> rows;
  std::map<int, std::size_t> row_of;  // by phase
  for (std::size_t i = 0; !is_each && i < estimate.families.size(); ++i) {
    rows.push_back({.name = estimate.families[i].first, .phases = {}, .time = {}});
    for (const int phase : estimate.families[i].second) row_of[phase] = i;
  }
  for (const PhaseEstimate& phase : estimate.phases) {
    const auto found = row_of.find(phase.phase);
    Row& row = found != row_of.end() ? rows[found->second] : rows.emplace_back();
    if (row.name.empty()) row.name = std::to_string(phase.phase);
    row.phases.push_back(&phase);
    row.time.add(phase);
  }
  std::erase_if(rows, [](const Row& row) { return row.phases.empty(); });
  return rows;
}

// Those that are shown.
std::set<std::string> longest(const std::vector<Row>& all, std::size_t rows) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < all.size(); ++i) {
    order.emplace_back(-std::max(all[i].time.time_s.median, all[i].time.measured_s), i);
  }
  std::sort(order.begin(), order.end());
  std::set<std::string> result;
  for (const auto& [time, index] : order) {
    if (result.size() < rows) result.insert(all[index].name);
  }
  return result;
}

constexpr const char* kRow = "{:>5}  {:<12} {:>12}  {:>21}  {:>4}  {:>11}  {:<26}  {:>11}  {:>9}";

std::string weightText(const IoTime& time) {
  if (time.weight_bytes == 0 && time.weight_operations > 0) {
    return fmt::format("{} calls", time.weight_operations);
  }
  return fmt::format("{:.3f}", static_cast<double>(time.weight_bytes) / kMiB);
}

std::string rowOf(std::string_view name, std::string_view operations, std::string_view bandwidths,
                  std::string_view iterations, const IoTime& time) {
  const auto error = time.timeErrorPercent();
  return fmt::format(fmt::runtime(kRow), name, operations, weightText(time), bandwidths, iterations,
                     fmt::format("{:.6f}", time.time_s.median),
                     fmt::format("{:.6f} .. {:.6f}", time.time_s.least, time.time_s.most),
                     time.measured_s > 0 ? fmt::format("{:.6f}", time.measured_s) : "-",
                     error ? fmt::format("{:+.1f}%", *error) : "-");
}

std::string rowOf(const Row& row) {
  const PhaseEstimate& first = *row.phases.front();
  const IoTime& all = row.time;
  const std::string runs = std::to_string(first.iterations);
  if (all.weight_operations > 0) {
    const double rate = static_cast<double>(all.weight_operations) / all.time_s.median;
    return rowOf(row.name, model::kMetadataName, fmt::format("{:.1f} calls/s", rate), runs, all);
  }
  std::vector<std::string_view> operations;
  std::vector<std::string> bandwidths;
  for (std::size_t i = 0; i < first.operations.size(); ++i) {
    double mib = 0;
    double seconds = 0;
    for (const PhaseEstimate* phase : row.phases) {
      mib += static_cast<double>(phase->operations[i].weight_bytes) / kMiB;
      seconds += phase->operations[i].time_s.median;
    }
    operations.push_back(model::nameOf(first.operations[i].operation));
    bandwidths.push_back(fmt::format("{:.1f}", mib / seconds));
  }
  return rowOf(row.name, fmt::format("{}", fmt::join(operations, "+")),
               fmt::format("{}", fmt::join(bandwidths, "+")), runs, all);
}

// The total, and what it is made of.
std::string wholeText(const Estimate& estimate) {
  const WholeEstimate& whole = *estimate.whole;
  const event::IoTime& own = estimate.application;
  const bool is_known = own.total() > 0;
  const auto s = [&](std::int64_t ns) {
    return is_known ? std::optional(static_cast<double>(ns) / kNsPerSecond) : std::nullopt;
  };
  constexpr const char* kLine = "{:<22}  {:>11}  {:<26}  {:>11}  {:>9}\n";
  std::string out = '\n' + fmt::format(fmt::runtime(kLine), "slowest process", "Time_io",
                                       "least .. most", "application", "error");
  const auto line = [&](std::string_view name, const Spread& time, std::optional<double> measured) {
    const bool has_error = measured && *measured > 0;
    out += fmt::format(
        fmt::runtime(kLine), name, fmt::format("{:.6f}", time.median),
        fmt::format("{:.6f} .. {:.6f}", time.least, time.most),
        measured ? fmt::format("{:.6f}", *measured) : "-",
        has_error ? fmt::format("{:+.1f}%", 100 * (time.median - *measured) / *measured) : "-");
  };
  line("total", estimate.time_s, s(own.total()));
  line("  reads and writes", whole.data_s, s(own.data_ns));
  line("  metadata", whole.metadata_s, s(own.metadata_ns));
  line("  sync", whole.sync_s, s(own.sync_ns));
  line("beside it, waiting", whole.waiting_s, s(own.waiting_ns));
  if (whole.chain_s) {
    line("chain of all processes", *whole.chain_s,
         estimate.application_chain_ns ? s(*estimate.application_chain_ns) : std::nullopt);
  }
  out += whole.runs > 1
             ? fmt::format("{} runs, which vary by {:.1f} %\n", whole.runs, whole.variation_percent)
             : std::string("1 run: how much others would differ is not known\n");
  if (whole.differences > 0) {
    out += fmt::format("{} calls of a run went otherwise than in the application\n",
                       whole.differences);
  }
  return out;
}

}  // namespace

std::string textOf(const Estimate& estimate, std::optional<double> peak_mib_s, std::size_t rows,
                   bool is_each) {
  const std::vector<Row> all = rowsOf(estimate, is_each);
  const std::set<std::string> shown = longest(all, rows);
  IoTime rest;
  std::size_t left_out = 0;
  std::string out = fmt::format(fmt::runtime(kRow), "phase", "operations", "weight", "bandwidth",
                                "runs", "Time_io", "least .. most", "application", "error");
  if (peak_mib_s) out += "   usage";
  out += '\n';
  out += fmt::format(fmt::runtime(kRow), "", "", "MiB", "MiB/s", "", "s", "s", "s", "");
  out += '\n';
  for (const Row& row : all) {
    if (!shown.contains(row.name)) {
      rest.add(row.time);
      left_out += row.phases.size();
      continue;
    }
    out += rowOf(row);
    const auto usage = peak_mib_s ? usagePercent(row.time, *peak_mib_s) : std::nullopt;
    if (usage) out += fmt::format("  {:5.1f}%", *usage);
    out += '\n';
  }
  if (shown.size() < all.size()) {
    out += rowOf("more", fmt::format("{} phases", left_out), "", "", rest) + '\n';
  }
  if (!estimate.whole) {
    out += rowOf("total", "", "", "", estimate) + '\n';
  } else {
    out += rowOf("sum", "", "", "", estimate.sum) + '\n';
    out += wholeText(estimate);
  }
  for (const Row& row : all) {
    if (!shown.contains(row.name)) continue;
    std::vector<std::string> notes;
    for (const PhaseEstimate* phase : row.phases) {
      for (const std::string& note : phase->notes) addOnce(notes, note);
    }
    for (const std::string& note : notes) out += fmt::format("phase {}: {}\n", row.name, note);
  }
  for (const int phase : estimate.missing_metadata) {
    out += fmt::format("phase {}: metadata calls without a result, so the total is without them\n",
                       phase);
  }
  for (const int phase : estimate.missing) {
    out += fmt::format("phase {}: no result, so the total is without it\n", phase);
  }
  return out;
}

}  // namespace omnio::ior
