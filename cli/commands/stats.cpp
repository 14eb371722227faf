// omnio stats: where the I/O time went.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/call_selection.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "statistics/lateness.hpp"
#include "statistics/report.hpp"

namespace omnio::cli {
namespace {

struct StatsOptions {
  CallSelection selection;
  std::string by = "file";
  std::string layer = "application";
  bool histograms = false;
  bool patterns = false;
  bool waits = false;
  std::optional<std::uint64_t> alignment;
  unsigned depth = 0;
  bool json = false;
  bool csv = false;
};

int runStats(const StatsOptions& options) {
  const ProgressLine progress;
  const base::Result<tracefile::Trace> trace = options.selection.open();
  if (!trace) return fail(trace.failure());
  stats::Selection selection = options.selection.chosen();
  if (options.layer == "posix") selection.layer = stats::Layer::kPosix;
  selection.depth = options.depth;
  std::optional<stats::PatternOptions> patterns;
  if (options.patterns || options.alignment) {
    patterns.emplace(options.alignment.value_or(stats::kUsualAlignment));
  }
  const base::Result<stats::Report> report =
      stats::makeReport(*trace, *stats::byName(options.by), selection, patterns);
  if (!report) return fail(report.failure());
  if (options.json) {
    const auto waits = [&](base::JsonWriter& json) {
      json.key("waits");
      stats::putWaits(json, *trace, *stats::waitsOf(*trace, *report));
    };
    Output output(OutputForm::kJson);
    stats::appendJson(
        output.text(), *report, [&output] { output.drain(); },
        options.waits ? waits : std::function<void(base::JsonWriter&)>());
    return output.finish();
  }
  if (options.csv) return printAll(stats::csvOf(*report));
  std::string text = stats::textOf(*report, options.histograms);
  if (options.waits) text += stats::waitsText(*trace, *stats::waitsOf(*trace, *report));
  return printAll(text);
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
  command
      .option("--depth", options->depth,
              "Sums up files by so many folders at the start of their paths")
      .typeName("N")
      .positive();
  command.flag("--patterns", options->patterns,
               "How requests follow each other in files: sequential, random, misaligned, again");
  command
      .option(
          "--alignment", options->alignment,
          "With --patterns: offsets that are not a multiple of so many bytes are misaligned (4096)")
      .typeName("BYTES")
      .positive();
  command.flag("--histograms", options->histograms, "How many calls had which size and time, too");
  const base::OptionHandle json =
      command.flag("--json", options->json, "A JSON document instead of tables");
  const base::OptionHandle csv =
      command.flag("--csv", options->csv, "A line of comma-separated values for each of these")
          .excludes(json);
  command
      .flag("--waits", options->waits,
            "How long ranks waited for others in MPI calls, and which rank caused the longest wait")
      .excludes(csv);
  command.callback([options] { return runStats(*options); });
}

}  // namespace omnio::cli
