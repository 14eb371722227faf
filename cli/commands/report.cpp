// omnio report: one page that shows where the I/O time went.
#include "statistics/report.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/call_selection.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/page_file.hpp"
#include "cli/progress_line.hpp"
#include "cli/slow_paths.hpp"
#include "core/base/printable.hpp"
#include "core/tracefile/completeness.hpp"
#include "phase_model/model_builder.hpp"
#include "report/activity.hpp"
#include "report/advice.hpp"
#include "report/advice_settings.hpp"
#include "report/figures.hpp"
#include "report/page_data.hpp"
#include "report/read_offsets.hpp"
#include "statistics/lateness.hpp"

namespace omnio::cli {
namespace {

struct ReportOptions {
  CallSelection selection;
  std::string output;
  std::string figures;
  std::string phases = "auto";
  std::string settings;
  std::string calibration;
};

bool isChosen(const stats::Selection& selection) {
  return selection.rank || selection.thread || selection.window || !selection.patterns.empty();
}

// Why the page has no phases; empty: it has.
std::string withoutPhases(const ReportOptions& options, const stats::Selection& selection,
                          std::uint64_t events) {
  if (options.phases == "no") return "Phases were left out (--phases no).";
  if (isChosen(selection)) {
    return "Phases are of whole runs, and this page is of chosen calls.";
  }
  if (options.phases == "auto" && events > report::kMostPhaseCalls) {
    return fmt::format(
        "Phases are left out where there are more than {} calls (--phases yes has "
        "them).",
        report::kMostPhaseCalls);
  }
  return "";
}

void findPhases(const ReportOptions& options, const tracefile::Trace& trace,
                report::PageData& data) {
  data.no_phases = withoutPhases(options, data.by_file.selection, data.by_file.wholeness.events);
  if (!data.no_phases.empty()) return;
  base::Result<phases::MadeModel> made = phases::makePhaseModel(trace, {});
  if (made) {
    data.phases = std::move(made->model);
  } else {
    data.no_phases = base::safeText(made.failure().sentence);
  }
}

void findAdvice(const report::AdviceSettings& settings, report::PageData& data) {
  if (isChosen(data.by_file.selection)) {
    data.no_advice = "Advice is of whole runs, and this page is of chosen calls.";
    return;
  }
  data.advice =
      report::adviceOn({data.by_file, data.by_call, data.by_rank, data.lateness}, settings);
}

int runReport(const ReportOptions& options) {
  const ProgressLine progress;
  if (options.output.empty() && options.figures.empty()) {
    printFailure("nothing to write: -o PAGE, --figures DIRECTORY or both are needed");
    return kWrongUsage;
  }
  report::AdviceSettings settings;
  if (!options.settings.empty()) {
    const base::Result<report::AdviceSettings> read = report::readAdviceSettings(options.settings);
    if (!read) return fail(read.failure(), kWrongUsage);
    settings = *read;
  }
  base::Result<tracefile::Trace> trace = options.selection.open();
  // A script that makes pages of many runs gets one for each.
  if (!trace && trace.failure().code == base::Code::kEmpty) {
    trace = tracefile::Trace::empty(options.selection.trace);
  }
  if (!trace) return fail(trace.failure());
  const stats::Selection selection = options.selection.chosen();
  if (!options.calibration.empty() && isChosen(selection)) {
    return fail({base::Code::kInvalid,
                 "--calibration: paths of accesses are of whole runs, and not of the calls that "
                 "--rank, --thread, --path and --window choose"},
                kWrongUsage);
  }
  report::ActivityReader activity(*trace, selection);
  base::Result<std::vector<stats::Report>> reports =
      stats::makeReports(*trace, {stats::By::kFile, stats::By::kCall, stats::By::kRank}, selection,
                         report::patternsFor(settings), activity.observers());
  if (!reports) return fail(reports.failure());
  report::PageData data;
  data.made = timeNow();
  data.version = OMNIO_VERSION;
  data.by_file = std::move((*reports)[0]);
  data.by_call = std::move((*reports)[1]);
  data.by_rank = std::move((*reports)[2]);
  data.activity = activity.take(report::readOffsets(*trace, selection, data.by_file));
  if (const auto& waits = data.by_file.waits) {
    data.lateness = stats::sentencesOf(stats::latenessOf(*trace, *waits));
  }
  if (!options.calibration.empty()) {
    auto paths = slowPathsOf(*trace, data.by_file.wholeness, options.calibration);
    if (!paths) return fail(paths.failure());
    data.put_paths = [found = std::move(*paths)](base::JsonWriter& json) {
      access_time::putSlowPaths(json, found);
    };
  }
  findAdvice(settings, data);
  findPhases(options, *trace, data);
  std::string said;
  if (!options.output.empty()) {
    const base::Result<std::size_t> bytes =
        writePage(options.output, report::PageKind::kReport, report::jsonOf(*trace, data));
    if (!bytes) return fail(bytes.failure());
    said += fmt::format("{}: an HTML page of {} KiB\n", base::printable(options.output),
                        (*bytes + 1023) / 1024);
  }
  if (!options.figures.empty()) {
    const std::vector<report::Figure> figures = report::figuresOf(data);
    if (const auto written = writeFigures(options.figures, figures); !written) {
      return fail(written.failure());
    }
    said += fmt::format("{}: {} pictures\n", base::printable(options.figures), figures.size());
  }
  sayWhatIsMissing(options.selection.trace, data.by_file.wholeness);
  return printAll(said);
}

}  // namespace

void addReportCommand(base::Command program) {
  const auto options = std::make_shared<ReportOptions>();
  const base::Command command = program.subcommand(
      "report", "A page for the browser: where the I/O time went, by time, rank, file and call");
  options->selection.addTo(command);
  command.option("-o,--output", options->output, "The page to write").typeName("PAGE");
  command
      .option("--figures", options->figures,
              "Writes pictures for papers (SVG) into this directory, which is made where needed")
      .typeName("DIR");
  command
      .option("--phases", options->phases,
              "Whether the page has the I/O phases; auto: of traces that are not too large")
      .oneOf({"auto", "yes", "no"})
      .showDefault();
  command
      .option("--settings", options->settings, "The thresholds of the advice (configs/advice.toml)")
      .typeName("FILE");
  command
      .option("--calibration", options->calibration,
              "Adds the paths that accesses took, beside this calibration of their target (omnio "
              "calibrate)")
      .typeName("CALIBRATION");
  command.callback([options] { return runReport(*options); });
}

}  // namespace omnio::cli
