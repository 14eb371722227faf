#include "ior_bridge/ior/emit.hpp"

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <system_error>

#include "core/base/document_file.hpp"
#include "core/base/printable.hpp"

namespace omnio::ior {
namespace {

namespace fs = std::filesystem;
using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

constexpr int kVersion = 1;

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

void put(Writer& out, const char* key, std::string_view value) {
  const std::string clean = base::safeText(value);
  out.Key(key);
  out.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
}

void putRun(Writer& out, const IorRun& run) {
  const auto number = [&](const char* key, std::uint64_t value) {
    out.Key(key);
    out.Uint64(value);
  };
  const auto flag = [&](const char* key, bool value) {
    out.Key(key);
    out.Bool(value);
  };
  out.StartObject();
  put(out, "command", commandLineOf(run));
  put(out, "api", run.api == Api::kMpiIo ? "MPIIO" : "POSIX");
  put(out, "operation", model::nameOf(run.operation));
  flag("measured", run.measured);
  number("tasks", static_cast<std::uint64_t>(run.tasks));
  number("transfer_bytes", run.transfer_bytes);
  number("block_bytes", run.block_bytes);
  number("segments", run.segments);
  number("iterations", static_cast<std::uint64_t>(run.iterations));
  flag("file_per_process", run.file_per_process);
  flag("collective", run.collective);
  flag("random", run.random);
  flag("fsync", run.fsync);
  flag("cold", run.cold);
  if (run.measured) put(out, "summary", summaryOf(run));
  out.EndObject();
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
  rapidjson::StringBuffer buffer;
  Writer out(buffer);
  out.SetIndent(' ', 2);
  out.StartObject();
  put(out, "format", "omnio-ior-plan");
  out.Key("version");
  out.Int(kVersion);
  put(out, "source", plan.source);
  put(out, "fsync", fsyncSentence(plan));
  out.Key("phases");
  out.StartArray();
  for (const PhasePlan& phase : plan.phases) {
    out.StartObject();
    out.Key("phase");
    out.Int(phase.phase);
    put(out, "script", fmt::format("phase-{}.sh", phase.phase));
    out.Key("runs");
    out.StartArray();
    for (const IorRun& run : phase.runs) putRun(out, run);
    out.EndArray();
    out.Key("approximations");
    out.StartArray();
    for (const std::string& sentence : phase.approximations)
      out.String(base::safeText(sentence).c_str());
    out.EndArray();
    out.EndObject();
  }
  out.EndArray();
  out.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
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

std::optional<base::Failure> emit(const IorPlan& plan, const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return base::Failure{
        base::Code::kSystem,
        fmt::format("cannot make {}: {}", base::printable(directory.native()), error.message())};
  }
  for (const PhasePlan& phase : plan.phases) {
    const fs::path path = directory / fmt::format("phase-{}.sh", phase.phase);
    if (auto failure = base::writeDocument(path, scriptOf(phase, plan))) return failure;
  }
  if (auto failure = base::writeDocument(directory / "run-all.sh", runAllOf(plan))) return failure;
  return base::writeDocument(directory / "ior-plan.json", jsonOf(plan));
}

}  // namespace omnio::ior
