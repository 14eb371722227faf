// omnio collect: brings what killed processes left behind into their trace.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/output.hpp"
#include "cli/trace_selection.hpp"
#include "core/collect.hpp"
#include "core/printable.hpp"

namespace omnio::cli {
namespace {

std::string counted(std::uint64_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

// For what cannot be brought in any more: the trace is gone, or its device stays full.
int discard(const std::filesystem::path& trace) {
  std::uint64_t removed = 0;
  for (const std::filesystem::path& ring : deadRingsOf(trace)) {
    std::error_code error;
    if (std::filesystem::remove(ring, error)) {
      ++removed;
    } else if (error) {
      printFailure(fmt::format("cannot remove {}: {}", printable(ring.native()), error.message()));
      return kFailed;
    }
  }
  return printAll(fmt::format("{} discarded\n", counted(removed, "ring", "rings")));
}

int work(const TraceSelection& selection) {
  // Opening it says what is wrong with a trace; only then is anything changed.
  if (!selection.open()) return kFailed;
  const CollectReport report = collectRings(selection.trace);
  for (const std::string& trouble : report.troubles) printFailure(trouble);
  const int printed = printAll(fmt::format(
      "{} of {} collected{}\n", counted(report.events, "event", "events"),
      counted(report.processes, "ended process", "ended processes"),
      report.running == 0 ? std::string()
                          : fmt::format("; {} still running",
                                        counted(report.running, "process is", "processes are"))));
  return report.troubles.empty() ? printed : kFailed;
}

}  // namespace

void addCollectCommand(CLI::App& app, int& exit_code) {
  const auto selection = std::make_shared<TraceSelection>();
  CLI::App* command = app.add_subcommand(
      "collect", "Bring the last events of killed processes from this node's memory into TRACE");
  selection->addTrace(*command);
  const auto throw_away = std::make_shared<bool>(false);
  command->add_flag("--discard", *throw_away,
                    "Remove those events from memory instead; TRACE may be gone");
  command->callback([selection, throw_away, &exit_code] {
    exit_code = *throw_away ? discard(selection->trace) : work(*selection);
  });
}

}  // namespace omnio::cli
