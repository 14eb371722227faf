// omnio stats: where the I/O time went.
#include <memory>
#include <string>

#include "cli/call_selection.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "statistics/report.hpp"

namespace omnio::cli {
namespace {

struct StatsOptions {
  CallSelection selection;
  std::string by = "file";
  std::string layer = "application";
  bool histograms = false;
  bool json = false;
  bool csv = false;
};

int runStats(const StatsOptions& options) {
  const base::Result<tracefile::Trace> trace = options.selection.open();
  if (!trace) return fail(trace.failure());
  stats::Selection selection = options.selection.chosen();
  if (options.layer == "posix") selection.layer = stats::Layer::kPosix;
  const base::Result<stats::Report> report =
      stats::makeReport(*trace, *stats::byName(options.by), selection);
  if (!report) return fail(report.failure());
  if (options.json) {
    Output output(OutputForm::kJson);
    stats::appendJson(output.text(), *report, [&output] { output.drain(); });
    return output.finish();
  }
  return printAll(options.csv ? stats::csvOf(*report) : stats::textOf(*report, options.histograms));
}

}  // namespace

void addStatsCommand(base::Command program) {
  const auto options = std::make_shared<StatsOptions>();
  const base::Command command = program.subcommand(
      "stats", "Operations, bytes, times and bandwidth, by file, rank, thread or call");
  options->selection.addTo(command);
  command.option("--by", options->by, "What a line of the report is about")
      .oneOf({"file", "rank", "thread", "call"})
      .showDefault();
  command
      .option("--layer", options->layer,
              "The application's own calls, or POSIX calls, those that MPI-IO makes too")
      .oneOf({"application", "posix"})
      .showDefault();
  command.flag("--histograms", options->histograms, "How many calls had which size and time, too");
  const base::OptionHandle json =
      command.flag("--json", options->json, "A JSON document instead of tables");
  command.flag("--csv", options->csv, "A line of comma-separated values for each of these")
      .excludes(json);
  command.callback([options] { return runStats(*options); });
}

}  // namespace omnio::cli
