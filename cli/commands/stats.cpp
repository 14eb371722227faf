// omnio stats: where the I/O time went.
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "statistics/report.hpp"

namespace omnio::cli {
namespace {

struct StatsOptions {
  TraceSelection selection;
  std::string by = "file";
  std::vector<std::string> paths;
  std::string window;
  std::string layer = "application";
  bool histograms = false;
  bool json = false;
  bool csv = false;
};

int runStats(const StatsOptions& options) {
  const base::Result<tracefile::Trace> trace = options.selection.open();
  if (!trace) return fail(trace.failure());
  stats::Selection selection{
      .rank = options.selection.rank,
      .thread = options.selection.thread,
      .patterns = options.paths,
      .window = {},
      .layer = options.layer == "posix" ? stats::Layer::kPosix : stats::Layer::kApplication};
  if (!options.window.empty()) selection.window = *stats::readWindow(options.window);
  const base::Result<stats::Report> report =
      stats::makeReport(*trace, *stats::byName(options.by), selection);
  if (!report) return fail(report.failure());
  if (options.json) return printJson(stats::jsonOf(*report));
  return printAll(options.csv ? stats::csvOf(*report) : stats::textOf(*report, options.histograms));
}

}  // namespace

void addStatsCommand(base::Command program) {
  const auto options = std::make_shared<StatsOptions>();
  const base::Command command = program.subcommand(
      "stats", "Operations, bytes, times and bandwidth, by file, rank, thread or call");
  options->selection.addTrace(command);
  options->selection.addRank(command);
  options->selection.addThread(command);
  command.option("--by", options->by, "What a line of the report is about")
      .oneOf({"file", "rank", "thread", "call"})
      .showDefault();
  command
      .option("--path", options->paths, "Only calls on files like this: `*` and `?` as in a shell")
      .typeName("PATTERN")
      .repeatable();
  command
      .option("--window", options->window,
              "Only calls that begin in this time, in seconds from the start of the run")
      .typeName("FROM..TO")
      .check([](const std::string& word) {
        const base::Result<stats::Window> window = stats::readWindow(word);
        return window ? std::string() : window.failure().sentence;
      });
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
