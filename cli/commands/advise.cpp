// omnio advise: what in the I/O of a run costs time that another way would not.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/call_selection.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "cli/slow_paths.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/tracefile/completeness.hpp"
#include "report/advice.hpp"
#include "report/advice_settings.hpp"
#include "statistics/lateness.hpp"
#include "statistics/report.hpp"

namespace omnio::cli {
namespace {

struct AdviseOptions {
  TraceSelection selection;
  std::string settings;
  std::string calibration;
  bool json = false;
};

int runAdvise(const AdviseOptions& options) {
  const ProgressLine progress;
  report::AdviceSettings settings;
  if (!options.settings.empty()) {
    const base::Result<report::AdviceSettings> read = report::readAdviceSettings(options.settings);
    if (!read) return fail(read.failure(), kWrongUsage);
    settings = *read;
  }
  const base::Result<tracefile::Trace> trace = options.selection.open();
  if (!trace) return fail(trace.failure());
  const base::Result<std::vector<stats::Report>> reports =
      stats::makeReports(*trace, {stats::By::kFile, stats::By::kCall, stats::By::kRank}, {},
                         report::patternsFor(settings));
  if (!reports) return fail(reports.failure());
  report::AdviceInput input{(*reports)[0], (*reports)[1], (*reports)[2]};
  if (const auto& waits = input.by_file.waits) {
    input.lateness = stats::sentencesOf(stats::latenessOf(*trace, *waits));
  }
  const std::vector<report::Finding> findings = report::adviceOn(input, settings);
  const tracefile::Wholeness& wholeness = input.by_file.wholeness;
  std::optional<access_time::SlowPaths> paths;
  if (!options.calibration.empty()) {
    auto found = slowPathsOf(*trace, wholeness, options.calibration);
    if (!found) return fail(found.failure());
    paths = std::move(*found);
  }
  sayWhatIsMissing(options.selection.trace, wholeness);
  if (!options.json) {
    return printAll(report::textOf(findings) + (paths ? '\n' + access_time::textOf(*paths) : ""));
  }
  return printJson(
      base::jsonDocument("omnio-advice", 1, {.indent = 2, .decimals = 6}, [&](auto& json) {
        json.put("trace", base::printable(options.selection.trace));
        json.put("whole", wholeness.whole);
        json.key("findings");
        report::putFindings(json, findings);
        if (!paths) return;
        json.key("paths");
        access_time::putSlowPaths(json, *paths);
      }));
}

}  // namespace

void addAdviseCommand(base::Command program) {
  const auto options = std::make_shared<AdviseOptions>();
  const base::Command command = program.subcommand(
      "advise", "What in the I/O costs time that another way of doing the same would not");
  options->selection.addTrace(command);
  command.option("--settings", options->settings, "The thresholds (configs/advice.toml)")
      .typeName("FILE");
  command
      .option(
          "--calibration", options->calibration,
          "Sets each access beside this calibration of its target (omnio calibrate): which took "
          "a slow path")
      .typeName("CALIBRATION");
  command.flag("--json", options->json, "A JSON document instead of text");
  command.callback([options] { return runAdvise(*options); });
}

}  // namespace omnio::cli
