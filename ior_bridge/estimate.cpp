#include "ior_bridge/estimate.hpp"

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"

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

namespace {

using Buffer = rapidjson::StringBuffer;
using Writer = rapidjson::PrettyWriter<Buffer>;

constexpr int kVersion = 1;

void text(Writer& out, std::string_view value) {
  const std::string clean = base::safeText(value);
  out.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
}

void spread(Writer& out, const char* key, const Spread& value) {
  out.Key(key);
  out.StartObject();
  out.Key("median");
  out.Double(value.median);
  out.Key("min");
  out.Double(value.least);
  out.Key("max");
  out.Double(value.most);
  out.EndObject();
}

void optional(Writer& out, const char* key, std::optional<double> value) {
  out.Key(key);
  if (value) {
    out.Double(*value);
  } else {
    out.Null();
  }
}

std::optional<double> positive(double value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

void texts(Writer& out, const char* key, const std::vector<std::string>& values) {
  out.Key(key);
  out.StartArray();
  for (const std::string& value : values) text(out, value);
  out.EndArray();
}

void phaseOf(Writer& out, const PhaseEstimate& phase, std::optional<double> peak_mib_s) {
  out.StartObject();
  out.Key("phase");
  out.Int(phase.phase);
  out.Key("weight_bytes");
  out.Uint64(phase.weight_bytes);
  out.Key("iterations");
  out.Uint64(phase.iterations);
  out.Key("operations");
  out.StartArray();
  for (const OperationEstimate& o : phase.operations) {
    out.StartObject();
    out.Key("operation");
    text(out, model::nameOf(o.operation));
    out.Key("weight_bytes");
    out.Uint64(o.weight_bytes);
    spread(out, "bandwidth_mib_s", o.bandwidth_mib_s);
    spread(out, "time_io_s", o.time_s);
    out.EndObject();
  }
  out.EndArray();
  spread(out, "time_io_s", phase.time_s);
  optional(out, "measured_s", positive(phase.measured_s));
  optional(out, "time_error_percent", phase.timeErrorPercent());
  optional(out, "bandwidth_error_percent", phase.bandwidthErrorPercent());
  if (peak_mib_s) {
    const std::optional<double> own = phase.measuredBandwidth();
    optional(out, "usage_percent", own ? std::optional(100 * *own / *peak_mib_s) : std::nullopt);
  }
  texts(out, "results", phase.sources);
  texts(out, "notes", phase.notes);
  out.EndObject();
}

}  // namespace

std::string jsonOf(const Estimate& estimate, std::optional<double> peak_mib_s) {
  Buffer buffer;
  Writer out(buffer);
  out.SetIndent(' ', 2);
  out.StartObject();
  out.Key("format");
  out.String("omnio-estimate");
  out.Key("version");
  out.Int(kVersion);
  out.Key("source");
  text(out, estimate.source);
  out.Key("phases");
  out.StartArray();
  for (const PhaseEstimate& phase : estimate.phases) phaseOf(out, phase, peak_mib_s);
  out.EndArray();
  out.Key("missing");
  out.StartArray();
  for (const int phase : estimate.missing) out.Int(phase);
  out.EndArray();
  out.Key("total");
  out.StartObject();
  out.Key("weight_bytes");
  out.Uint64(estimate.weight_bytes);
  spread(out, "time_io_s", estimate.time_s);
  optional(out, "measured_s", positive(estimate.measured_s));
  out.EndObject();
  out.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

namespace {

std::string operationsOf(const PhaseEstimate& phase) {
  std::string words;
  for (const OperationEstimate& o : phase.operations) {
    words += fmt::format("{}{}", words.empty() ? "" : "+", model::nameOf(o.operation));
  }
  return words;
}

std::string bandwidthsOf(const PhaseEstimate& phase) {
  std::string words;
  for (const OperationEstimate& o : phase.operations) {
    words += fmt::format("{}{:.1f}", words.empty() ? "" : "+", o.bandwidth_mib_s.median);
  }
  return words;
}

std::string range(const Spread& spread) {
  return fmt::format("{:.6f} .. {:.6f}", spread.least, spread.most);
}

std::string measured(double seconds) {
  return seconds > 0 ? fmt::format("{:.6f}", seconds) : std::string("-");
}

std::string error(double estimated_s, double measured_s) {
  if (!(measured_s > 0)) return "-";
  return fmt::format("{:+.1f}%", 100 * (estimated_s - measured_s) / measured_s);
}

// The phases that get a row of their own.
std::set<int> longest(const Estimate& estimate, std::size_t rows) {
  std::vector<std::pair<double, int>> order;
  for (const PhaseEstimate& phase : estimate.phases) {
    order.emplace_back(-std::max(phase.time_s.median, phase.measured_s), phase.phase);
  }
  std::sort(order.begin(), order.end());
  std::set<int> result;
  for (const auto& [time, phase] : order) {
    if (result.size() < rows) result.insert(phase);
  }
  return result;
}

constexpr const char* kRow = "{:>5}  {:<12} {:>12}  {:>21}  {:>4}  {:>11}  {:<26}  {:>11}  {:>9}";

}  // namespace

std::string textOf(const Estimate& estimate, std::optional<double> peak_mib_s, std::size_t rows) {
  const std::set<int> shown = longest(estimate, rows);
  PhaseEstimate rest;
  std::string out = fmt::format(fmt::runtime(kRow), "phase", "operations", "weight", "bandwidth",
                                "runs", "Time_io", "least .. most", "application", "error");
  if (peak_mib_s) out += "   usage";
  out += '\n';
  out += fmt::format(fmt::runtime(kRow), "", "", "MiB", "MiB/s", "", "s", "s", "s", "");
  out += '\n';
  for (const PhaseEstimate& phase : estimate.phases) {
    if (!shown.contains(phase.phase)) {
      rest.weight_bytes += phase.weight_bytes;
      rest.time_s.median += phase.time_s.median;
      rest.time_s.least += phase.time_s.least;
      rest.time_s.most += phase.time_s.most;
      rest.measured_s += phase.measured_s;
      continue;
    }
    out += fmt::format(fmt::runtime(kRow), phase.phase, operationsOf(phase),
                       fmt::format("{:.3f}", static_cast<double>(phase.weight_bytes) / kMiB),
                       bandwidthsOf(phase), phase.iterations,
                       fmt::format("{:.6f}", phase.time_s.median), range(phase.time_s),
                       measured(phase.measured_s), error(phase.time_s.median, phase.measured_s));
    if (peak_mib_s && phase.measuredBandwidth()) {
      out += fmt::format("  {:5.1f}%", 100 * *phase.measuredBandwidth() / *peak_mib_s);
    }
    out += '\n';
  }
  const auto sum = [&](std::string_view name, std::string_view what, std::uint64_t weight_bytes,
                       const Spread& time_s, double measured_s) {
    out += fmt::format(fmt::runtime(kRow), name, what,
                       fmt::format("{:.3f}", static_cast<double>(weight_bytes) / kMiB), "", "",
                       fmt::format("{:.6f}", time_s.median), range(time_s), measured(measured_s),
                       error(time_s.median, measured_s));
    out += '\n';
  };
  if (shown.size() < estimate.phases.size()) {
    sum("more", fmt::format("{} phases", estimate.phases.size() - shown.size()), rest.weight_bytes,
        rest.time_s, rest.measured_s);
  }
  sum("total", "", estimate.weight_bytes, estimate.time_s, estimate.measured_s);
  for (const PhaseEstimate& phase : estimate.phases) {
    if (!shown.contains(phase.phase)) continue;
    for (const std::string& note : phase.notes) {
      out += fmt::format("phase {}: {}\n", phase.phase, note);
    }
  }
  for (const int phase : estimate.missing) {
    out += fmt::format("phase {}: no result, so the total is without it\n", phase);
  }
  return out;
}

}  // namespace omnio::ior
