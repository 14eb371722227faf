#include "ior_bridge/ior/emit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/base/document_file.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"

namespace omnio::ior {
namespace {

namespace fs = std::filesystem;

constexpr int kPlanVersion = 1;

// The data goes into a fresh directory, so that what is removed at the end is IOR's alone. A
// summary of an earlier run would pass for this one's if IOR did not even start.
constexpr std::string_view kScript = R"(set -eu
: "${{TARGET:?has to name a directory on the storage system}}"
RESULTS=${{RESULTS:-$(dirname "$0")}}
DIR=$(mktemp -d "$TARGET/omnio-ior.XXXXXX")
trap 'rm -rf "$DIR"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
run() {{
  tasks=$1
  shift
  ${{LAUNCHER:-mpirun}} -n "$tasks" "${{IOR:-ior}}" "$@"
}}
)";

// On each node that has a task. The dd of GNU gives up the pages of a whole file when it copies
// nothing; where it cannot, reads are warm, and it is said.
constexpr std::string_view kCool = R"(cool() {
  ${LAUNCHER:-mpirun} -n "$1" sh -c 'for file in "$1"/*; do
    dd if=/dev/null of="$file" oflag=nocache conv=notrunc,fdatasync count=0 2>/dev/null || exit 1
  done' sh "$DIR" || echo "$0: the page cache stays warm: no dd that empties it" >&2
}
)";

std::string fsyncSentence(const IorPlan& plan) {
  return plan.options.fsync ? "writes end with an fsync before the file is closed (-e)"
                            : "writes end in the page cache: no fsync before the file is closed";
}

void putRun(base::JsonWriter& json, const IorRun& run) {
  json.object([&] {
    json.put("command", commandLineOf(run));
    json.put("api", nameOf(run.api));
    json.put("operation", model::nameOf(run.operation));
    json.put("measured", run.measured);
    json.put("tasks", run.tasks);
    json.put("transfer_bytes", run.transfer_bytes);
    json.put("block_bytes", run.block_bytes);
    json.put("segments", run.segments);
    json.put("iterations", run.iterations);
    json.put("file_per_process", run.file_per_process);
    json.put("collective", run.collective);
    json.put("random", run.random);
    json.put("fsync", run.fsync);
    json.put("cold", run.cold);
    if (run.measured) json.put("summary", summaryOf(run));
  });
}

}  // namespace

std::string scriptOf(const PhasePlan& phase, const IorPlan& plan) {
  std::string out = "#!/bin/sh\n";
  out +=
      fmt::format("# Phase {} of {}, by IOR. Variables: TARGET (needed), RESULTS, LAUNCHER, IOR.\n",
                  phase.phase, base::safeText(plan.source));
  out += fmt::format("# {}\n", fsyncSentence(plan));
  for (const std::string& sentence : phase.approximations) {
    out += fmt::format("# approximation: {}\n", base::safeText(sentence));
  }
  out += fmt::format(kScript);
  const auto is_cold = [](const IorRun& run) { return run.cold; };
  if (std::any_of(phase.runs.begin(), phase.runs.end(), is_cold)) out += kCool;
  out += fmt::format("rm -f \"$RESULTS\"/phase-{0}.json \"$RESULTS\"/phase-{0}[.-]*.json\n",
                     phase.phase);
  for (const IorRun& run : phase.runs) {
    if (!run.measured) out += "# The file for the read that follows.\n";
    const std::string line =
        fmt::format("run {} {}\n", run.tasks, fmt::join(argumentsOf(run), " "));
    if (!run.cold) {
      out += line;
      continue;
    }
    out += "for i in";
    for (int i = 1; i <= run.iterations; ++i) out += fmt::format(" {}", i);
    out += fmt::format("; do\n  cool {}\n  {}done\n", run.tasks, line);
  }
  return out;
}

std::string runAllOf(const IorPlan& plan) {
  std::string out =
      "#!/bin/sh\n# All phases, one after the other. Variables: see each script.\nset -eu\n";
  out += "here=$(dirname \"$0\")\n";
  for (const PhasePlan& phase : plan.phases) {
    out += fmt::format("sh \"$here\"/phase-{}.sh\n", phase.phase);
  }
  return out;
}

std::string jsonOf(const IorPlan& plan) {
  return base::jsonDocument("omnio-ior-plan", kPlanVersion, {.indent = 2}, [&](auto& json) {
    json.put("source", plan.source);
    json.put("fsync", fsyncSentence(plan));
    json.list("phases", plan.phases, [&](const PhasePlan& phase) {
      json.object([&] {
        json.put("phase", phase.phase);
        json.put("script", fmt::format("phase-{}.sh", phase.phase));
        json.list("runs", phase.runs, [&](const IorRun& run) { putRun(json, run); });
        json.put("approximations", phase.approximations);
      });
    });
  });
}

std::string textOf(const IorPlan& plan) {
  std::string out;
  for (const PhasePlan& phase : plan.phases) {
    out += fmt::format("phase {}\n", phase.phase);
    for (const IorRun& run : phase.runs) {
      out += fmt::format(
          "  {}{}{}\n", run.measured ? "" : "prepare: ", commandLineOf(run),
          run.cold ? fmt::format("  (for i in 1..{}, with a cold cache)", run.iterations) : "");
    }
    for (const std::string& sentence : phase.approximations) {
      out += fmt::format("  approximation: {}\n", sentence);
    }
  }
  return out + fsyncSentence(plan) + "\n";
}

base::Result<void> emit(const IorPlan& plan, const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return base::failure(base::Code::kSystem, "cannot make {}: {}",
                         base::printable(directory.native()), error.message());
  }
  for (const PhasePlan& phase : plan.phases) {
    const fs::path path = directory / fmt::format("phase-{}.sh", phase.phase);
    if (auto written = base::writeDocument(path, scriptOf(phase, plan)); !written) return written;
  }
  auto written = base::writeDocument(directory / "run-all.sh", runAllOf(plan));
  if (!written) return written;
  return base::writeDocument(directory / "ior-plan.json", jsonOf(plan));
}

}  // namespace omnio::ior
