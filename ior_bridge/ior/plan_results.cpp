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

constexpr std::string_view kIteration = "$i";

// A run of a document, with the files of its summaries.
struct PlannedRun {
  IorRun run;
  std::vector<std::string> summaries;  // one for each start of IOR
};

constexpr base::Word<Api> kApis[] = {{Api::kPosix, "POSIX"}, {Api::kMpiIo, "MPIIO"}};

std::optional<std::int64_t> operationOf(const std::string& word) {
  for (const Operation operation : {Operation::kWrite, Operation::kRead}) {
    if (word == model::nameOf(operation)) return static_cast<std::int64_t>(operation);
  }
  return std::nullopt;
}

// The measured runs of a "runs".
std::vector<PlannedRun> runsIn(JsonReader& in, JsonObject& holder) {
  constexpr base::JsonRange kAtLeastOne{.least = 1};
  std::vector<PlannedRun> runs;
  for (const JsonNode& node : holder.list("runs")) {
    JsonObject object(in, node, JsonObject::Others::kAllowed);
    if (!object.flag("measured")) continue;
    PlannedRun& planned = runs.emplace_back();
    IorRun& run = planned.run;
    run.api = object.oneOf("api", kApis);
    run.operation = static_cast<Operation>(object.word("operation", operationOf));
    run.tasks = static_cast<int>(object.integer("tasks", {.least = 1, .most = 1 << 24}));
    run.transfer_bytes = object.natural("transfer_bytes", kAtLeastOne);
    run.block_bytes = object.natural("block_bytes", kAtLeastOne);
    run.segments = object.natural("segments", kAtLeastOne);
    run.iterations = static_cast<int>(object.integer("iterations", {.least = 1, .most = 1000}));
    run.file_per_process = object.flag("file_per_process");
    run.collective = object.flag("collective");
    run.random = object.flag("random");
    run.fsync = object.flag("fsync");
    run.reordered = object.flag("reordered");
    const std::string summary = object.text("summary");
    if (summary.empty() || summary.find('/') != std::string::npos) {
      object.refuse("summary", "has to be the name of a file beside this one");
      break;
    }
    const std::size_t at = summary.find(kIteration);
    run.apart = at != std::string::npos;
    for (int i = 1; i <= (run.apart ? run.iterations : 1); ++i) {
      std::string name = summary;
      if (run.apart) name.replace(at, kIteration.size(), std::to_string(i));
      planned.summaries.push_back(std::move(name));
    }
  }
  return runs;
}

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
           {"reorderTasks", has.reordered, run.reordered}}) {
    if (found && *found != wanted) return fmt::format("{} {}, not {}", name, *found, wanted);
  }
  return {};
}

struct RunResults {
  std::vector<double> mib_s;  // by iteration
  std::string target;
};

// The directory that a script was given: its own below that has a name of mktemp.
std::string targetOf(const std::string& data_file) {
  const fs::path own = fs::path(data_file).parent_path();
  return own.filename().native().starts_with("omnio-ior.") ? own.parent_path().native() : "";
}

base::Result<RunResults> measuredOf(const PlannedRun& planned, const fs::path& plan) {
  RunResults measured;
  const IorRun& run = planned.run;
  for (const std::string& name : planned.summaries) {
    const fs::path path = plan.parent_path() / name;
    const auto refuse = [&](std::string_view why) {
      return base::failure(base::Code::kInvalid, "{}: {}", base::printable(path.native()), why);
    };
    const base::Result<Summary> summary = readSummary(path);
    if (!summary && summary.failure().code == base::Code::kNotFound) {
      return refuse(fmt::format("missing, though {} names it: not all runs of the plan were done",
                                base::printable(plan.filename().native())));
    }
    if (!summary) return summary.failure();
    const SummaryTest& test = summary->tests.front();
    const Operation other =
        run.operation == Operation::kWrite ? Operation::kRead : Operation::kWrite;
    const std::vector<double>& found = test.bandwidth_mib_s.of(run.operation);
    const std::size_t wanted = run.apart ? 1 : static_cast<std::size_t>(run.iterations);
    std::string difference = differenceOf(run, test);
    if (difference.empty() && (summary->tests.size() != 1 || found.size() != wanted ||
                               !test.bandwidth_mib_s.of(other).empty())) {
      difference = fmt::format("other tests than {} {}{}", wanted, model::nameOf(run.operation),
                               wanted == 1 ? "" : "s");
    }
    if (!difference.empty()) {
      return refuse(fmt::format("not the run that {} plans: it has {}",
                                base::printable(plan.filename().native()), difference));
    }
    measured.mib_s.insert(measured.mib_s.end(), found.begin(), found.end());
    measured.target = targetOf(test.data_file);
  }
  return measured;
}

base::Failure notOf(const fs::path& path, std::string_view why) {
  return base::failure(base::Code::kInvalid, "{}: {}", base::printable(path.native()), why);
}

}  // namespace

std::string formatOf(const fs::path& path) {
  JsonReader in(path, base::kMostBytesHeld);
  const JsonNode root = in.value();
  if (in.failed()) return {};
  const JsonNode* format = root.find("format");
  const auto* text = format == nullptr ? nullptr : format->as<std::string>();
  return text == nullptr ? std::string() : *text;
}

base::Result<PhaseBandwidths> readPlanResults(const fs::path& path,
                                              const model::PhaseModel& model) {
  JsonReader in(path, base::kMostBytesHeld);
  const JsonNode root = in.value();
  if (const auto read = in.finish(); !read) return read.failure();
  JsonObject document(in, root, JsonObject::Others::kAllowed);
  document.format(kPlanFormat, kPlanVersion, "a plan of IOR");
  const std::string digest = document.text("model");
  std::map<int, std::vector<PlannedRun>> planned;
  for (const JsonNode& node : document.list("phases")) {
    JsonObject object(in, node, JsonObject::Others::kAllowed);
    const auto phase = static_cast<int>(object.integer("phase", {.least = 1, .most = 1000000000}));
    planned[phase] = runsIn(in, object);
  }
  if (const auto read = in.finish(); !read) return read.failure();
  if (digest != model::digestOf(model)) {
    return notOf(path, fmt::format("the plan of another model ({}; this one is {})",
                                   base::inBrief(digest), model::digestOf(model)));
  }
  PhaseBandwidths result;
  for (const model::Phase& phase : model.phases) {
    const std::vector<PlannedRun>& runs = planned[phase.id];
    const bool is_same = std::ranges::equal(
        runs, phase.operations, [](const PlannedRun& run, const model::PhaseOperation& operation) {
          return run.run.operation == operation.operation;
        });
    if (!is_same) return notOf(path, fmt::format("not the operations of phase {}", phase.id));
    for (const PlannedRun& run : runs) {
      base::Result<RunResults> measured = measuredOf(run, path);
      if (!measured) return measured.failure();
      if (result.target.empty()) result.target = measured->target;
      if (!measured->target.empty() && measured->target != result.target) {
        return notOf(
            path, fmt::format("its runs were on two targets, {} and {}",
                              base::printable(result.target), base::printable(measured->target)));
      }
      const std::size_t found = measured->mib_s.size();
      result.iterations = result.iterations == 0 ? found : std::min(result.iterations, found);
      result.mib_s[phase.id].push_back(std::move(measured->mib_s));
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
  std::vector<std::vector<PlannedRun>> nodes;
  for (const JsonNode& node : document.list("nodes")) {
    JsonObject object(in, node, JsonObject::Others::kAllowed);
    nodes.push_back(runsIn(in, object));
  }
  if (const auto read = in.finish(); !read) return read.failure();
  PeakBandwidths sum;
  for (const std::vector<PlannedRun>& runs : nodes) {
    double write = 0;
    double read = 0;
    for (const PlannedRun& run : runs) {
      const base::Result<RunResults> measured = measuredOf(run, path);
      if (!measured) return measured.failure();
      double& peak = run.run.operation == Operation::kWrite ? write : read;
      for (const double bandwidth : measured->mib_s) peak = std::max(peak, bandwidth);
    }
    if (!(write > 0) || !(read > 0)) return notOf(path, "an I/O node without a write and a read");
    sum.write_mib_s += write;
    sum.read_mib_s += read;
  }
  if (nodes.empty()) return notOf(path, "no I/O node is in it");
  return sum;
}

}  // namespace omnio::ior
