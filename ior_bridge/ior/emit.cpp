#include "ior_bridge/ior/emit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "core/base/document_file.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"

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
mkdir -p "$RESULTS"
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

// Fills a file that IOR reads and does not write before: with text, so that no block is a hole or
// zeros.
constexpr std::string_view kFill = R"(fill() {
  yes omnio 2>/dev/null | head -c "$2" >"$DIR/$1"
}
)";

// IOR takes hints from variables of this name. A key that cannot be in one is left out.
std::string hintsOf(const IorRun& run) {
  std::string out;
  for (const auto& [key, value] : run.hints) {
    const bool is_name = std::ranges::all_of(key, [](char c) {
      return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    });
    if (is_name) out += fmt::format("export IOR_HINT__MPI__{}={}\n", key, shellWordOf(value));
  }
  if (out.empty()) return out;
  return "# The application's hints; the launcher has to pass them on to other nodes.\n" + out;
}

constexpr base::Word<Fsync> kFsyncSentences[] = {
    {Fsync::kModel,
     "writes end with an fsync where the application had one (-e; -Y: after each write)"},
    {Fsync::kAlways, "writes end with an fsync before the file is closed (-e)"},
    {Fsync::kNever, "writes end in the page cache: no fsync before the file is closed"}};

base::Result<void> makeDirectory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error) return {};
  return base::failure(base::Code::kSystem, "cannot make {}: {}",
                       base::printable(directory.native()), error.message());
}

// The run of mdtest that a phase has.
void putMdtest(base::JsonWriter& json, const MdtestRun& run) {
  json.object("mdtest", [&] {
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

std::string commandOf(const IorRun& run) { return "ior " + argumentsOf(run); }

void putRun(base::JsonWriter& json, const IorRun& run) {
  json.object([&] {
    json.put("name", run.name);
    json.put("command", commandOf(run));
    json.put("api", nameOf(run.api));
    json.put("writes", run.writes);
    json.put("reads", run.reads);
    json.put("tasks", run.tasks);
    json.put("transfer_bytes", run.transfer_bytes);
    json.put("block_bytes", run.block_bytes);
    json.put("segments", run.segments);
    json.put("transfers_of_task", transfersOf(run));
    json.put("iterations", run.iterations);
    json.put("file_per_process", run.file_per_process);
    json.put("collective", run.collective);
    json.put("random", run.random);
    json.put("fsync", run.fsync);
    json.put("fsync_each", run.fsync_each);
    json.put("filled", run.filled);
    json.put("cold", run.cold);
    json.put("reordered", run.reordered);
    json.put("summary", summaryOf(run));
  });
}

// The words of a range, as a loop of a shell has them.
std::string upTo(int count) {
  std::string words;
  for (int i = 0; i < count; ++i) words += fmt::format(" {}", i);
  return words;
}

// The steps of the script for a run: files that it reads, the page cache, and IOR.
std::string stepsOf(const IorRun& run) {
  std::string out;
  if (run.filled) {
    const std::uint64_t bytes = run.segments * run.block_bytes *
                                (run.file_per_process ? 1 : static_cast<std::uint64_t>(run.tasks));
    const std::string loop = fmt::format("for i in{}; do\n", upTo(run.iterations));
    out += run.file_per_process
               ? fmt::format(
                     "{}  for task in $(seq -f %08.f 0 {}); do\n"
                     "    fill {}.\"$task\".\"$i\" {}\n  done\ndone\n",
                     loop, run.tasks - 1, dataOf(run), bytes)
               : fmt::format("{}  fill {}.\"$i\" {}\ndone\n", loop, dataOf(run), bytes);
  }
  if (run.cold) out += fmt::format("cool {}\n", run.tasks);
  return out + fmt::format("run {} {}\n", run.tasks, argumentsOf(run));
}

// "1-40 (write), 41 (read)": what a start of IOR is in place of.
std::string usersOf(const IorPlan& plan, std::size_t run) {
  std::vector<std::string> users;
  for (const FamilyPlan& family : plan.families) {
    std::vector<std::string_view> operations;
    for (std::size_t i = 0; i < family.runs.size(); ++i) {
      if (family.runs[i] != run) continue;
      operations.push_back(model::nameOf(family.phases.front()->operations[i].operation));
    }
    if (operations.empty()) continue;
    users.push_back(
        fmt::format("{} ({})", model::idsOf(family.phases), fmt::join(operations, ", ")));
  }
  return fmt::format("{}", fmt::join(users, ", "));
}

std::string approximationsOf(const FamilyPlan& family) {
  std::string out;
  for (const std::string& sentence : family.approximations) {
    out += fmt::format("# approximation of {}: {}\n", model::idsOf(family.phases),
                       base::safeText(sentence));
  }
  return out;
}

std::string mdtestScriptOf(const FamilyPlan& family, const IorPlan& plan) {
  std::string out = fmt::format(
      "#!/bin/sh\n"
      "# Phase {} of {}, by mdtest. Variables: TARGET (needed), RESULTS, LAUNCHER, MDTEST.\n",
      model::idsOf(family.phases), base::safeText(plan.source));
  out += approximationsOf(family);
  out += "set -eu\n";
  out += kNeedsTarget;
  out += "RESULTS=${RESULTS:-$(dirname \"$0\")}\nmkdir -p \"$RESULTS\"\n";
  out += "DIR=$(mktemp -d \"$TARGET/omnio-ior.XXXXXX\")\n";
  out += kTraps;
  out += kMdtest;
  const std::string output = outputOf(*family.mdtest);
  out += fmt::format("rm -f \"$RESULTS\"/{}\n", output);
  // One that failed leaves no result.
  out += fmt::format("metadata {} {} > \"$RESULTS\"/{}.part\n", family.mdtest->tasks,
                     fmt::join(argumentsOf(*family.mdtest), " "), output);
  return out + fmt::format("mv \"$RESULTS\"/{0}.part \"$RESULTS\"/{0}\n", output);
}

std::string runScriptOf(std::size_t index, const IorPlan& plan) {
  const IorRun& run = plan.runs[index];
  std::string out = fmt::format(
      "#!/bin/sh\n"
      "# Phase {} of {}, by IOR. Variables: TARGET (needed), RESULTS, LAUNCHER, IOR.\n",
      usersOf(plan, index), base::safeText(plan.source));
  out += fmt::format("# {}\n", base::wordOf(kFsyncSentences, plan.options.fsync));
  for (const FamilyPlan& family : plan.families) {
    if (std::ranges::find(family.runs, index) != family.runs.end()) out += approximationsOf(family);
  }
  out += "set -eu\n";
  out += kNeedsTarget;
  out += kResults;
  out += "DIR=$(mktemp -d \"$TARGET/omnio-ior.XXXXXX\")\n";
  out += kTraps;
  out += hintsOf(run);
  if (run.filled) out += kFill;
  if (run.cold) out += kCool;
  out += fmt::format("rm -f \"$RESULTS\"/{}\n", summaryOf(run));
  return out + stepsOf(run);
}

}  // namespace

std::vector<Script> scriptsOf(const IorPlan& plan) {
  std::vector<Script> scripts;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    scripts.push_back({plan.runs[i].name + ".sh", runScriptOf(i, plan)});
  }
  for (const FamilyPlan& family : plan.families) {
    if (family.mdtest)
      scripts.push_back({family.mdtest->name + ".sh", mdtestScriptOf(family, plan)});
  }
  std::string all =
      "#!/bin/sh\n# All phases, one after the other. Variables: see each script.\nset -eu\n";
  all += "here=$(dirname \"$0\")\n";
  for (const Script& script : scripts) all += fmt::format("sh \"$here\"/{}\n", script.name);
  // The plan says which summaries are of which phase.
  all += "results=${RESULTS:-$here}\n";
  all += "cmp -s \"$here\"/ior-plan.json \"$results\"/ior-plan.json ||\n";
  all += "  cp \"$here\"/ior-plan.json \"$results\"/\n";
  scripts.push_back({"run-all.sh", std::move(all)});
  return scripts;
}

std::string jsonOf(const IorPlan& plan) {
  return base::jsonDocument(kPlanFormat, kPlanVersion, {.indent = 2}, [&](auto& json) {
    json.put("source", plan.source);
    json.put("model", plan.model);
    json.object("options", [&] {
      json.put("api", plan.options.api ? nameOf(*plan.options.api) : kModelsOwn);
      json.put("fsync", base::wordOf(kFsyncWords, plan.options.fsync));
      json.put("iterations", plan.options.iterations);
    });
    json.list("runs", plan.runs, [&](const IorRun& run) { putRun(json, run); });
    json.list("families", plan.families, [&](const FamilyPlan& family) {
      json.object([&] {
        std::vector<int> ids;
        for (const model::Phase* phase : family.phases) ids.push_back(phase->id);
        json.put("phases", ids);
        std::vector<std::string> runs;
        for (const std::size_t run : family.runs) runs.push_back(plan.runs[run].name);
        json.put("runs", runs);
        if (family.mdtest) putMdtest(json, *family.mdtest);
        json.put("remarks", family.remarks);
        json.put("approximations", family.approximations);
      });
    });
  });
}

std::string textOf(const IorPlan& plan) {
  std::string out;
  std::set<std::size_t> shown;
  for (const FamilyPlan& family : plan.families) {
    out += fmt::format("phase {}\n", model::idsOf(family.phases));
    for (const std::size_t index : std::set(family.runs.begin(), family.runs.end())) {
      const IorRun& run = plan.runs[index];
      if (!shown.insert(index).second) {
        out += fmt::format("  in the start of {}\n", run.name);
        continue;
      }
      out += fmt::format("  {}{}\n", commandOf(run),
                         run.cold     ? "  (files made before, the cache cold)"
                         : run.filled ? "  (files made before)"
                                      : "");
    }
    if (family.mdtest) out += fmt::format("  {}\n", commandLineOf(*family.mdtest));
    for (const std::string& sentence : family.remarks) out += fmt::format("  {}\n", sentence);
    for (const std::string& sentence : family.approximations) {
      out += fmt::format("  approximation: {}\n", sentence);
    }
  }
  if (plan.runs.empty()) return out;
  const auto data_families = static_cast<std::uint64_t>(std::ranges::count_if(
      plan.families, [](const FamilyPlan& family) { return !family.mdtest; }));
  return out + fmt::format("{} of IOR for {} of phases\n{}\n",
                           base::counted(plan.runs.size(), "start", "starts"),
                           base::counted(data_families, "family", "families"),
                           base::wordOf(kFsyncSentences, plan.options.fsync));
}

base::Result<void> emit(const IorPlan& plan, const fs::path& directory) {
  if (auto made = makeDirectory(directory); !made) return made;
  for (const Script& script : scriptsOf(plan)) {
    if (auto written = base::writeDocument(directory / script.name, script.text); !written) {
      return written;
    }
  }
  return base::writeDocument(directory / "ior-plan.json", jsonOf(plan));
}

namespace {

// Where the files of an I/O node go, as a shell reads it.
std::string shellPathOf(const IoNode& node) {
  if (node.directory.empty()) return "\"$TARGET\"";
  const std::string word = shellWordOf(node.directory.native());
  return node.directory.is_absolute() ? word : "\"$TARGET\"/" + word;
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
  out += "rm -f \"$RESULTS\"/peak.json \"$RESULTS\"/peak-*.json\n";
  for (const PeakNode& each : plan.nodes) {
    if (!each.node.name.empty()) out += fmt::format("# I/O node {}\n", each.node.name);
    out += fmt::format("DIR=$(mktemp -d {}/omnio-ior.XXXXXX)\n", shellPathOf(each.node));
    for (const IorRun& run : each.runs) out += stepsOf(run);
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
    json.put("api", nameOf(plan.options.api));
    json.put("tasks", plan.options.tasks);
    json.put("task_bytes", plan.options.task_bytes);
    json.put("iterations", plan.options.iterations);
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
    out += '\n';
    for (const IorRun& run : each.runs) {
      out += fmt::format("  {}{}\n", commandOf(run), run.cold ? "  (with a cold cache)" : "");
    }
  }
  return out;
}

base::Result<void> emit(const PeakPlan& plan, const fs::path& directory) {
  if (auto made = makeDirectory(directory); !made) return made;
  return base::writeDocument(directory / "peak.sh", scriptOf(plan));
}

}  // namespace omnio::ior
