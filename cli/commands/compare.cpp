// omnio compare: candidates for the I/O of one application, side by side.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"
#include "ior_bridge/comparison.hpp"
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
};

base::Failure refuse(const std::string& path, std::string_view why) {
  return {base::Code::kInvalid, fmt::format("{}: {}", base::printable(path), why)};
}

// Runs of the phase runner: all phases together, or one by one.
base::Result<void> addResults(const model::PhaseModel& model, const std::string& path,
                              ior::Candidate& into) {
  const base::Result<ior::Summary> summary = ior::readSummary(path);
  if (!summary) return summary.failure();
  if (summary->of.model.empty()) {
    return refuse(path, "a summary of IOR, which does not say of which model and target it is");
  }
  if (summary->of.model != model::digestOf(model)) {
    return refuse(path, fmt::format("results of another model ({}; this one is {})",
                                    base::inBrief(summary->of.model), model::digestOf(model)));
  }
  if (into.target.empty()) into.target = summary->of.target;
  if (into.target != summary->of.target) {
    return refuse(path, fmt::format("results of {}, and others of \"{}\" are of {}",
                                    base::printable(summary->of.target), base::printable(into.name),
                                    base::printable(into.target)));
  }
  if (summary->runs.empty()) {
    return refuse(path,
                  "its phases were run one by one: they do not add up to a time that can be "
                  "compared");
  }
  for (const ior::SummaryRun& run : summary->runs) into.io_s.push_back(run.io_s);
  for (const ior::SummaryTest& test : summary->tests) {
    const auto phase = std::ranges::find(model.phases, test.phase.value_or(0), &model::Phase::id);
    if (phase == model.phases.end()) continue;
    for (std::size_t run = 0; run < summary->runs.size(); ++run) {
      double seconds = 0;
      for (const model::PhaseOperation& operation : phase->operations) {
        const std::vector<double>& bandwidths = test.bandwidth_mib_s.of(operation.operation);
        if (run >= bandwidths.size()) continue;
        seconds +=
            static_cast<double>(model::weightOf(*phase, operation)) / model::kMiB / bandwidths[run];
      }
      into.phase_s[phase->id].push_back(seconds);
    }
  }
  return {};
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
  into.io_s.push_back(static_cast<double>(own.io.total()) / kNsInSecond);
  // Phases are the same where they are alike one by one.
  const bool are_alike = std::ranges::equal(
      own.phases, model.phases, [](const model::Phase& a, const model::Phase& b) {
        return a.weight_bytes == b.weight_bytes && a.interface == b.interface;
      });
  for (std::size_t i = 0; are_alike && i < model.phases.size(); ++i) {
    into.phase_s[model.phases[i].id].push_back(static_cast<double>(own.phases[i].io.total()) /
                                               kNsInSecond);
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

// "NAME=WRITE,READ" in MiB/s.
base::Result<void> takePeak(const std::string& word, std::vector<ior::Candidate>& candidates) {
  const std::size_t equals = word.find('=');
  const std::size_t comma = word.find(',', equals == std::string::npos ? 0 : equals);
  const auto bad = [&](std::string_view why) {
    return base::failure(base::Code::kInvalid, "--peak {}: {}", base::printable(word), why);
  };
  if (equals == std::string::npos || comma == std::string::npos) {
    return bad("it is given as NAME=WRITE,READ, in MiB/s");
  }
  const auto found = std::ranges::find(candidates, word.substr(0, equals), &ior::Candidate::name);
  if (found == candidates.end()) return bad("no candidate has this name");
  const std::string_view text = word;
  found->peak_write_mib_s = numberIn(text.substr(equals + 1, comma - equals - 1));
  found->peak_read_mib_s = numberIn(text.substr(comma + 1));
  if (!found->peak_write_mib_s || !found->peak_read_mib_s) {
    return bad("a peak is a number of MiB/s above 0");
  }
  return {};
}

int runCompare(const CompareOptions& options) {
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
  for (const std::string& peak : options.peaks) {
    if (auto taken = takePeak(peak, candidates); !taken) return fail(taken.failure(), kWrongUsage);
  }
  const ior::Comparison comparison = ior::compare(*model, std::move(candidates));
  if (options.json) return printJson(ior::jsonOf(comparison));
  if (options.csv) return printAll(ior::csvOf(comparison));
  return printAll(
      ior::textOf(comparison, options.all ? std::numeric_limits<std::size_t>::max() : kPhaseRows));
}

}  // namespace

void addCompareCommand(base::Command program) {
  const auto options = std::make_shared<CompareOptions>();
  const base::Command command = program.subcommand(
      "compare", "Candidates side by side: I/O times, how sure they are, and which is fastest");
  command.option("MODEL", options->model, "A phase model (omnio phases)").required();
  command
      .option("CANDIDATE", options->candidates,
              "NAME=RESULT,RESULT...: results of omnio-phase-run, traces of the application, or of "
              "replays")
      .required();
  command
      .option("--peak", options->peaks,
              "NAME=WRITE,READ: what the candidate's system can do at most, in MiB/s; may be given "
              "more than once")
      .repeatable();
  command.flag("--all", options->all, "A row for each phase, not for the longest alone");
  command.flag("--json", options->json, "Prints a JSON document instead of tables");
  command.flag("--csv", options->csv, "Prints comma-separated values instead of tables");
  command.callback([options] { return runCompare(*options); });
}

}  // namespace omnio::cli
