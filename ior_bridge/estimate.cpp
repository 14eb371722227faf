#include "ior_bridge/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "core/base/printable.hpp"

namespace omnio::ior {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kNsPerSecond = 1e9;

// All that was measured of one phase.
struct Measured {
  Bandwidths bandwidth_mib_s;
  std::vector<std::string> sources;
  std::vector<std::string> notes;
};

template <typename T>
void addOnce(std::vector<T>& list, T value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(std::move(value));
}

const model::Phase* find(const model::PhaseModel& model, int id) {
  for (const model::Phase& phase : model.phases) {
    if (phase.id == id) return &phase;
  }
  return nullptr;
}

// What a benchmark did is not what the phase does: it was perhaps made for another one.
void noteDifferences(const model::Phase& phase, const SummaryTest& test, const std::string& name,
                     std::vector<std::string>& notes) {
  if (test.tasks && *test.tasks != phase.ranks.size()) {
    addOnce(notes, fmt::format("{}: run with {} tasks, the phase has {} processes", name,
                               *test.tasks, phase.ranks.size()));
  }
  if (!test.transfer_bytes) return;
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
  result.measured_s = static_cast<double>(phase.io_time_ns) / kNsPerSecond;
  result.sources = measured.sources;
  result.notes = measured.notes;
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
    result.time_s.median += o.time_s.median;
    result.time_s.least += o.time_s.least;
    result.time_s.most += o.time_s.most;
    result.iterations = result.operations.empty() ? bandwidths.size()
                                                  : std::min(result.iterations, bandwidths.size());
    result.operations.push_back(o);
  }
  return result;
}

// Adds a summary to the phases that it is of.
std::optional<base::Failure> take(const model::PhaseModel& model, const GivenResult& given,
                                  std::map<int, Measured>& measured) {
  const base::Result<Summary> summary = readSummary(given.path);
  if (!summary) return summary.failure();
  const std::string name = base::printable(given.path.native());
  bool any = false;
  for (const SummaryTest& test : summary->tests) {
    if (given.test && test.id != *given.test) continue;
    if (test.phase && given.phase && *test.phase != *given.phase) continue;
    any = true;
    const std::optional<int> id = test.phase    ? test.phase
                                  : given.phase ? given.phase
                                                : phaseOfName(given.path);
    if (!id) {
      return base::Failure{
          base::Code::kInvalid,
          fmt::format("{}: of which phase it is cannot be told: give it as ID={}", name, name)};
    }
    const model::Phase* phase = find(model, *id);
    if (phase == nullptr) {
      return base::Failure{
          base::Code::kInvalid,
          fmt::format("{}: it is of phase {}, which the model has not", name, *id)};
    }
    Measured& into = measured[*id];
    for (const auto operation : {model::Operation::kWrite, model::Operation::kRead}) {
      const std::vector<double>& from = test.bandwidth_mib_s.of(operation);
      std::vector<double>& to = into.bandwidth_mib_s.of(operation);
      to.insert(to.end(), from.begin(), from.end());
    }
    addOnce(into.sources, name);
    noteDifferences(*phase, test, name, into.notes);
  }
  if (any) return std::nullopt;
  return base::Failure{base::Code::kInvalid,
                       given.test
                           ? fmt::format("{}: it has no test {}", name, *given.test)
                           : fmt::format("{}: it has no test of phase {}", name, *given.phase)};
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

std::optional<double> PhaseEstimate::measuredBandwidth() const {
  if (!(measured_s > 0)) return std::nullopt;
  return static_cast<double>(weight_bytes) / kMiB / measured_s;
}

std::optional<double> PhaseEstimate::timeErrorPercent() const {
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
  if (!name.starts_with(kBegin) || !name.ends_with(".json")) return std::nullopt;
  const std::size_t end = name.find_first_of("-.", kBegin.size());
  return numberIn(std::string_view(name).substr(kBegin.size(), end - kBegin.size()));
}

base::Result<Estimate> estimate(const model::PhaseModel& model,
                                const std::vector<GivenResult>& results) {
  std::map<int, Measured> measured;
  for (const GivenResult& given : results) {
    if (auto failure = take(model, given, measured)) return *failure;
  }
  Estimate result;
  result.source = model.source;
  for (const model::Phase& phase : model.phases) {
    const auto found = measured.find(phase.id);
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
    const PhaseEstimate& added = result.phases.emplace_back(estimateOf(phase, found->second));
    result.weight_bytes += added.weight_bytes;
    result.time_s.median += added.time_s.median;
    result.time_s.least += added.time_s.least;
    result.time_s.most += added.time_s.most;
    result.measured_s += added.measured_s;
  }
  return result;
}

}  // namespace omnio::ior
