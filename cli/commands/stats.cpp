// omnio stats: where the I/O time went.
#include <memory>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/trace_selection.hpp"
#include "core/base/command_line.hpp"
#include "statistics/report.hpp"

namespace omnio::cli {
namespace {

struct Options {
  TraceSelection selection;
  std::string by = "file";
  bool json = false;
};

int work(const Options& options) {
  const std::optional<tracefile::Trace> trace = options.selection.open();
  if (!trace) return kFailed;
  const base::Result<stats::Report> report =
      stats::makeReport(*trace, *stats::byName(options.by), options.selection.rank);
  if (!report) {
    printFailure(report.failure().sentence);
    return kFailed;
  }
  return options.json ? printJson(stats::jsonOf(*report) + "\n") : printAll(stats::textOf(*report));
}

}  // namespace

void addStatsCommand(base::Command program, int& exit_code) {
  const auto options = std::make_shared<Options>();
  const base::Command command = program.subcommand(
      "stats", "Operations, bytes, times and bandwidth, by file, rank, thread or call");
  options->selection.addTrace(command);
  options->selection.addRank(command);
  command.option("--by", options->by, "What a line of the report is about")
      .oneOf({"file", "rank", "thread", "call"})
      .showDefault();
  command.flag("--json", options->json, "A JSON document instead of tables");
  command.callback([options, &exit_code] { exit_code = work(*options); });
}

}  // namespace omnio::cli
