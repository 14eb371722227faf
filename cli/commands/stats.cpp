// omnio stats: where the I/O time went.
#include <memory>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "statistics/report.hpp"

namespace omnio::cli {
namespace {

struct StatsOptions {
  TraceSelection selection;
  std::string by = "file";
  bool json = false;
};

int runStats(const StatsOptions& options) {
  const base::Result<tracefile::Trace> trace = options.selection.open();
  if (!trace) return fail(trace.failure());
  const base::Result<stats::Report> report =
      stats::makeReport(*trace, *stats::byName(options.by), options.selection.rank);
  if (!report) return fail(report.failure());
  return options.json ? printJson(stats::jsonOf(*report)) : printAll(stats::textOf(*report));
}

}  // namespace

void addStatsCommand(base::Command program) {
  const auto options = std::make_shared<StatsOptions>();
  const base::Command command = program.subcommand(
      "stats", "Operations, bytes, times and bandwidth, by file, rank, thread or call");
  options->selection.addTrace(command);
  options->selection.addRank(command);
  command.option("--by", options->by, "What a line of the report is about")
      .oneOf({"file", "rank", "thread", "call"})
      .showDefault();
  command.flag("--json", options->json, "A JSON document instead of tables");
  command.callback([options] { return runStats(*options); });
}

}  // namespace omnio::cli
