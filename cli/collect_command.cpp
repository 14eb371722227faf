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

namespace omnio::cli {
namespace {

std::string counted(std::uint64_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
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
  command->callback([selection, &exit_code] { exit_code = work(*selection); });
}

}  // namespace omnio::cli
