#include "ior_bridge/ior/plan_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/json_reader.hpp"
#include "core/base/printable.hpp"
#include "ior_bridge/ior/emit.hpp"
#include "ior_bridge/ior/family_rate.hpp"
#include "ior_bridge/ior/peak_plan.hpp"
#include "ior_bridge/ior/plan.hpp"
#include "ior_bridge/ior/summary_reader.hpp"

namespace omnio::ior {
namespace {

namespace fs = std::filesystem;
using base::JsonNode;
using base::JsonObject;
using base::JsonReader;
using model::Operation;

constexpr base::JsonRange kIterations{.least = 1, .most = 1000};

// "a transferSize of 4, not 8"; empty for a summary that is of the run, as far as it tells.
std::string differenceOf(const IorRun& run, const SummaryTest& test) {
  if (!test.api.empty() && test.api != nameOf(run.api)) {
    return fmt::format("api {}, not {}", base::inBrief(test.api), nameOf(run.api));
  }
  const SummaryParameters& has = test.parameters;
  for (const auto& [name, found, wanted] :
       std::initializer_list<std::tuple<const char*, std::optional<std::uint64_t>, std::uint64_t>>{
           {"tasks", test.tasks, static_cast<std::uint64_t>(run.tasks)},
           {"transferSize", test.transfer_bytes, run.transfer_bytes},
           {"blockSize", has.block_bytes, run.block_bytes},
           {"segmentCount", has.segments, run.segments},
           {"filePerProc", has.file_per_process, run.file_per_process},
           {"collective", has.collective, run.collective},
           {"randomOffset", has.random, run.random},
           {"fsync", has.fsync, run.fsync},
           {"fsyncperwrite", has.fsync_each, run.fsync_each},
           {"multiFile", has.several_files, run.several_files},
           {"reorderTasks", has.reordered, run.reordered}}) {
    if (found && *found != wanted) return fmt::format("{} {}, not {}", name, *found, wanted);
  }
  return {};
}

// The directory that a script was given: its own below that has a name of mktemp.
std::string targetOf(const std::string& data_file) {
  const fs::path own = fs::path(data_file).parent_path();
  return own.filename().native().starts_with("omnio-ior.") ? own.parent_path().native() : "";
}

// The summary of a run, in which each iteration has a write and a read as the run has.
base::Result<SummaryTest> measuredOf(const IorRun& run, const fs::path& plan) {
  const fs::path path = plan.parent_path() / summaryOf(run);
  const auto refuse = [&](std::string_view why) {
    return base::failure(base::Code::kInvalid, "{}: {}", base::printable(path.native()), why);
  };
  base::Result<Summary> summary = readSummary(path);
  if (!summary && summary.failure().code == base::Code::kNotFound) {
    return refuse(fmt::format("missing, though {} names it: not all runs of the plan were done",
                              base::printable(plan.filename().native())));
  }
  if (!summary) return summary.failure();
  SummaryTest& test = summary->tests.front();
  std::string difference = differenceOf(run, test);
  const bool is_one = summary->tests.size() == 1;
  for (const Operation operation : {Operation::kWrite, Operation::kRead}) {
    const std::size_t found = is_one ? test.bandwidth_mib_s.of(operation).size() : 0;
    const std::size_t wanted = run.has(operation) ? static_cast<std::size_t>(run.iterations) : 0;
    if (!difference.empty() || (is_one && found == wanted)) continue;
    difference = is_one ? fmt::format("{} {}s, not {}", found, model::nameOf(operation), wanted)
                        : fmt::format("{} tests, not 1", summary->tests.size());
  }
  if (!difference.empty()) {
    return refuse(fmt::format("not the run that {} plans: it has {}",
                              base::printable(plan.filename().native()), difference));
  }
  return std::move(test);
}

base::Failure notOf(const fs::path& path, std::string_view why) {
  return base::failure(base::Code::kInvalid, "{}: {}", base::printable(path.native()), why);
}

}  // namespace

std::string memberOf(const fs::path& path, std::string_view key) {
  JsonReader in(path, base::kMostBytesHeld);
  const JsonNode root = in.value();
  if (in.failed()) return {};
  const JsonNode* const member = root.find(key);
  const auto* text = member == nullptr ? nullptr : member->as<std::string>();
  return text == nullptr ? std::string() : *text;
}

base::Result<PlanResults> readPlanResults(const fs::path& path, const model::PhaseModel& model) {
  JsonReader in(path, base::kMostBytesHeld);
  const JsonNode root = in.value();
  if (const auto read = in.finish(); !read) return read.failure();
  JsonObject document(in, root, JsonObject::Others::kAllowed);
  document.format(kPlanFormat, kPlanVersion, "a plan of IOR");
  const std::string digest = document.text("model");
  PlanOptions options;
  JsonObject given(in, document.require("options"));
  if (const std::string api = given.text("api"); api != kModelsOwn) {
    options.api = given.oneOf("api", kApiWords);
  }
  options.fsync = given.oneOf("fsync", kFsyncWords);
  options.iterations = static_cast<int>(given.integer("iterations", kIterations));
  if (const auto read = in.finish(); !read) return read.failure();
  if (digest != model::digestOf(model)) {
    return notOf(path, fmt::format("the plan of another model ({}; this one is {})",
                                   base::inBrief(digest), model::digestOf(model)));
  }
  PlanResults result;
  result.plan = planFor(model, options);
  std::vector<SummaryTest> tests;
  for (const IorRun& run : result.plan.runs) {
    base::Result<SummaryTest> measured = measuredOf(run, path);
    if (!measured) return measured.failure();
    const std::string target = targetOf(measured->data_file);
    if (result.target.empty()) result.target = target;
    if (!target.empty() && target != result.target) {
      return notOf(path, fmt::format("its runs were on two targets, {} and {}",
                                     base::printable(result.target), base::printable(target)));
    }
    tests.push_back(std::move(*measured));
  }
  result.iterations = static_cast<std::size_t>(options.iterations);
  for (const FamilyPlan& family : result.plan.families) {
    for (std::size_t i = 0; i < family.runs.size(); ++i) {
      const std::vector<double> mib_s = bandwidthsOf(family.phases, i, tests[family.runs[i]]);
      for (const model::Phase* phase : family.phases) result.mib_s[phase->id].push_back(mib_s);
    }
  }
  return result;
}

base::Result<PeakBandwidths> readPeak(const fs::path& path) {
  JsonReader in(path, base::kMostBytesHeld);
  const JsonNode root = in.value();
  if (const auto read = in.finish(); !read) return read.failure();
  JsonObject document(in, root, JsonObject::Others::kAllowed);
  document.format(kPeakFormat, kPeakVersion, "the peak.json that peak.sh of `omnio ior` writes");
  PeakOptions options;
  options.api = document.oneOf("api", kApiWords);
  options.tasks = static_cast<int>(document.integer("tasks", {.least = 1, .most = 1 << 24}));
  options.task_bytes = document.natural("task_bytes", {.least = 1});
  options.iterations = static_cast<int>(document.integer("iterations", kIterations));
  for (const JsonNode& node : document.list("nodes")) {
    JsonObject object(in, node, JsonObject::Others::kAllowed);
    std::string name = object.text("name");
    if (name.find('/') != std::string::npos) object.refuse("name", "has to be a plain name");
    options.nodes.push_back({.name = std::move(name)});
  }
  if (const auto read = in.finish(); !read) return read.failure();
  if (options.nodes.empty()) return notOf(path, "no I/O node is in it");
  PeakBandwidths sum;
  for (const PeakNode& node : peakPlanFor(options).nodes) {
    PeakBandwidths peak;
    for (const IorRun& run : node.runs) {
      const base::Result<SummaryTest> measured = measuredOf(run, path);
      if (!measured) return measured.failure();
      const Bandwidths& found = measured->bandwidth_mib_s;
      for (const double mib_s : found.write) peak.write_mib_s = std::max(peak.write_mib_s, mib_s);
      for (const double mib_s : found.read) peak.read_mib_s = std::max(peak.read_mib_s, mib_s);
    }
    sum.write_mib_s += peak.write_mib_s;
    sum.read_mib_s += peak.read_mib_s;
  }
  return sum;
}

}  // namespace omnio::ior
