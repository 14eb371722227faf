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

// The data goes into a fresh directory, so that what is removed at the end is IOR's alone. A
// summary of an earlier run would pass for this one's if IOR did not even start.
constexpr std::string_view kNeedsTarget =
    R"(: "${TARGET:?has to name a directory on the storage system}"
)";
// IOR ends the name of its summary at a blank.
constexpr std::string_view kResults = R"(RESULTS=${RESULTS:-$(dirname "$0")}
case $RESULTS in
  *[[:space:]]*)
    echo "$0: IOR cannot write to a directory with a blank in its name: $RESULTS" >&2
    exit 1 ;;
esac
)";
constexpr std::string_view kTraps = R"(trap 'rm -rf "$DIR"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
run() {
  tasks=$1
  shift
  ${LAUNCHER:-mpirun} -n "$tasks" "${IOR:-ior}" "$@"
}
)";

constexpr std::string_view kMdtest = R"(metadata() {
  tasks=$1
  shift
  ${LAUNCHER:-mpirun} -n "$tasks" "${MDTEST:-mdtest}" "$@"
}
)";

// On each node that has a task. The dd of GNU gives up the pages of a whole file when it copies
// nothing; where it cannot, reads are warm, and it is said.
constexpr std::string_view kCool = R"(cool() {
  ${LAUNCHER:-mpirun} -n "$1" sh -c 'for file in "$1"/*; do
    dd if=/dev/null of="$file" oflag=nocache conv=notrunc,fdatasync count=0 2>/dev/null || exit 1
  done' sh "$DIR" || echo "$0: the page cache stays warm: no dd that empties it" >&2
}
)";

// One word of a POSIX shell.
std::string shellWordOf(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + '\'';
}

// IOR takes hints from variables of this name. A key that cannot be in one is left out.
std::string hintsOf(const PhasePlan& phase) {
  std::string out;
  for (const auto& [key, value] : phase.hints) {
    const bool is_name = std::ranges::all_of(key, [](char c) {
      return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    });
    if (is_name) out += fmt::format("export IOR_HINT__MPI__{}={}\n", key, shellWordOf(value));
  }
  if (out.empty()) return out;
  return "# The application's hints; the launcher has to pass them on to other nodes.\n" + out;
}

std::string fsyncSentence(const IorPlan& plan) {
  return plan.options.fsync ? "writes end with an fsync before the file is closed (-e)"
                            : "writes end in the page cache: no fsync before the file is closed";
}

// The run of mdtest that a phase has.
void putMdtest(base::JsonWriter& json, const MdtestRun& run) {
  json.object([&] {
    json.put("command", commandLineOf(run));
    json.put("tasks", run.tasks);
    json.put("items", run.items);
    json.put("directories_in_tree", run.directories_in_tree);
    json.put("unique", run.unique);
    json.put("iterations", run.iterations);
    json.put("output", outputOf(run));
    json.list("steps", run.steps, [&](const MdtestStep& step) {
      json.object([&] {
        json.put("row", step.row);
        json.put("items", step.items);
      });
    });
  });
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
    json.put("reordered", run.reordered);
    if (run.measured) json.put("summary", summaryOf(run));
  });
}

}  // namespace

std::string scriptOf(const PhasePlan& phase, const IorPlan& plan) {
  std::string out = "#!/bin/sh\n";
  if (phase.mdtest) {
    out += fmt::format(
        "# Phase {} of {}, by mdtest. Variables: TARGET (needed), RESULTS, LAUNCHER, MDTEST.\n",
        phase.phase, base::safeText(plan.source));
    for (const std::string& sentence : phase.approximations) {
      out += fmt::format("# approximation: {}\n", base::safeText(sentence));
    }
    out += "set -eu\n";
    out += kNeedsTarget;
    out += "RESULTS=${RESULTS:-$(dirname \"$0\")}\n";
    out += "DIR=$(mktemp -d \"$TARGET/omnio-ior.XXXXXX\")\n";
    out += kTraps;
    out += kMdtest;
    const std::string output = outputOf(*phase.mdtest);
    out += fmt::format("rm -f \"$RESULTS\"/{}\n", output);
    // One that failed leaves no result.
    out += fmt::format("metadata {} {} > \"$RESULTS\"/{}.part\n", phase.mdtest->tasks,
                       fmt::join(argumentsOf(*phase.mdtest), " "), output);
    return out + fmt::format("mv \"$RESULTS\"/{0}.part \"$RESULTS\"/{0}\n", output);
  }
  out +=
      fmt::format("# Phase {} of {}, by IOR. Variables: TARGET (needed), RESULTS, LAUNCHER, IOR.\n",
                  phase.phase, base::safeText(plan.source));
  out += fmt::format("# {}\n", fsyncSentence(plan));
  for (const std::string& sentence : phase.approximations) {
    out += fmt::format("# approximation: {}\n", base::safeText(sentence));
  }
  out += "set -eu\n";
  out += kNeedsTarget;
  out += kResults;
  out += "DIR=$(mktemp -d \"$TARGET/omnio-ior.XXXXXX\")\n";
  out += kTraps;
  out += hintsOf(phase);
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
  // The plan says which summaries are of which phase.
  out += "results=${RESULTS:-$here}\n";
  out += "cmp -s \"$here\"/ior-plan.json \"$results\"/ior-plan.json ||\n";
  out += "  cp \"$here\"/ior-plan.json \"$results\"/\n";
  return out;
}

std::string jsonOf(const IorPlan& plan) {
  return base::jsonDocument(kPlanFormat, kPlanVersion, {.indent = 2}, [&](auto& json) {
    json.put("source", plan.source);
    json.put("model", plan.model);
    json.put("fsync", fsyncSentence(plan));
    json.list("phases", plan.phases, [&](const PhasePlan& phase) {
      json.object([&] {
        json.put("phase", phase.phase);
        json.put("script", fmt::format("phase-{}.sh", phase.phase));
        json.list("runs", phase.runs, [&](const IorRun& run) { putRun(json, run); });
        if (phase.mdtest) {
          json.key("mdtest");
          putMdtest(json, *phase.mdtest);
        }
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
    if (phase.mdtest) out += fmt::format("  {}\n", commandLineOf(*phase.mdtest));
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

namespace {

// Where the files of an I/O node go, as a shell reads it.
std::string shellPathOf(const IoNode& node) {
  if (node.directory.empty()) return "\"$TARGET\"";
  const std::string word = shellWordOf(node.directory.native());
  return node.directory.is_absolute() ? word : "\"$TARGET\"/" + word;
}

// A write and its read are one turn: the read finds the file, and removes it.
std::string turnsOf(const PeakNode& each) {
  std::string out;
  for (const IorRun& run : each.runs) {
    if (run.operation == model::Operation::kWrite) {
      out += "for i in";
      for (int i = 1; i <= run.iterations; ++i) out += fmt::format(" {}", i);
      out += "; do\n";
    }
    if (run.cold) out += fmt::format("  cool {}\n", run.tasks);
    out += fmt::format("  run {} {}\n", run.tasks, fmt::join(argumentsOf(run), " "));
    if (run.operation == model::Operation::kRead) out += "done\n";
  }
  return out;
}

}  // namespace

std::string scriptOf(const PeakPlan& plan) {
  std::string out =
      "#!/bin/sh\n"
      "# The peak bandwidths of a storage system, by IOR: peak.json and the summaries beside it.\n"
      "# Variables: TARGET (needed, unless each I/O node has an absolute directory), RESULTS,\n"
      "# LAUNCHER, IOR.\n"
      "set -eu\n";
  const auto is_below_target = [](const PeakNode& each) {
    return !each.node.directory.is_absolute();
  };
  if (std::ranges::any_of(plan.nodes, is_below_target)) out += kNeedsTarget;
  out += kResults;
  out += "DIR=\n";
  out += kTraps;
  out += kCool;
  out += "mkdir -p \"$RESULTS\"\n";
  out += "rm -f \"$RESULTS\"/peak.json \"$RESULTS\"/peak-*.json\n";
  for (const PeakNode& each : plan.nodes) {
    if (!each.node.name.empty()) out += fmt::format("# I/O node {}\n", each.node.name);
    out += fmt::format("DIR=$(mktemp -d {}/omnio-ior.XXXXXX)\n", shellPathOf(each.node));
    out += turnsOf(each);
    out += "rm -rf \"$DIR\"\n";
  }
  out += "# Only now that all runs are done.\n";
  out += "cat >\"$RESULTS\"/peak.json.part <<'END_OF_PLAN'\n";
  out += base::safeJson(jsonOf(plan));
  out += "END_OF_PLAN\nmv \"$RESULTS\"/peak.json.part \"$RESULTS\"/peak.json\n";
  return out;
}

std::string jsonOf(const PeakPlan& plan) {
  return base::jsonDocument(kPeakFormat, kPeakVersion, {.indent = 2}, [&](auto& json) {
    json.list("nodes", plan.nodes, [&](const PeakNode& each) {
      json.object([&] {
        json.put("name", each.node.name);
        json.put("directory", base::printable(each.node.directory.native()));
        json.list("runs", each.runs, [&](const IorRun& run) { putRun(json, run); });
      });
    });
  });
}

std::string textOf(const PeakPlan& plan) {
  std::string out;
  for (const PeakNode& each : plan.nodes) {
    out += each.node.name.empty() ? "the target"
                                  : fmt::format("I/O node {}: {}", each.node.name,
                                                base::printable(each.node.directory.native()));
    out += fmt::format(", each pair for i in 1..{}\n", plan.options.iterations);
    for (const IorRun& run : each.runs) {
      out += fmt::format("  {}{}\n", commandLineOf(run), run.cold ? "  (with a cold cache)" : "");
    }
  }
  return out;
}

base::Result<void> emit(const PeakPlan& plan, const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return base::failure(base::Code::kSystem, "cannot make {}: {}",
                         base::printable(directory.native()), error.message());
  }
  return base::writeDocument(directory / "peak.sh", scriptOf(plan));
}

}  // namespace omnio::ior
