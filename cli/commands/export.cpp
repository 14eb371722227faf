// omnio export: a trace as a file for other tools.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/call_selection.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "core/base/document_file.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/tracefile/completeness.hpp"
#include "report/chrome.hpp"
#include "report/csv.hpp"
#include "report/perfetto.hpp"
#include "report/timeline.hpp"

namespace omnio::cli {
namespace {

struct ExportOptions {
  CallSelection selection;
  bool perfetto = false;
  bool chrome = false;
  bool csv = false;
  std::string output;
};

std::string summaryOf(const ExportOptions& options, const report::TimelineEnd& end) {
  std::string text = fmt::format("{}: {} of {}", base::printable(options.output),
                                 base::counted(end.slices, "call", "calls"),
                                 base::counted(end.tracks, "thread", "threads"));
  if (!options.csv) text += fmt::format(", {}", base::counted(end.flows, "message", "messages"));
  if (!end.has_all_flows) {
    text += fmt::format("; further messages are left out, since a file has at most {}",
                        report::kMostFlows);
  }
  if (end.undecodable > 0) {
    text +=
        fmt::format("; {} could not be decoded", base::counted(end.undecodable, "call", "calls"));
  }
  return text + '\n';
}

int runExport(const ExportOptions& options) {
  if (!options.perfetto && !options.chrome && !options.csv) {
    base::refuseMissing("one of --perfetto, --chrome and --csv");
  }
  const ProgressLine progress;
  const base::Result<tracefile::Trace> trace = options.selection.open();
  if (!trace) return fail(trace.failure());
  sayWhatIsMissing(options.selection.trace, tracefile::assess(*trace));
  const stats::Selection selection = options.selection.chosen();
  base::DocumentFile file(options.output);
  const report::Write write = [&file](std::string_view text) {
    file.write(text);
    return !file.failed();
  };
  base::Result<report::TimelineEnd> end{report::TimelineEnd{}};
  if (options.perfetto) {
    report::PerfettoSink sink(write);
    end = report::readTimeline(*trace, selection, true, sink);
  } else if (options.csv) {
    report::CsvSink sink(write);
    end = report::readTimeline(*trace, selection, false, sink);
  } else {
    report::ChromeSink sink(write);
    end = report::readTimeline(*trace, selection, true, sink);
    if (end && !sink.finish()) {
      return fail(
          {base::Code::kInvalid,
           fmt::format("{}: more than {} calls, which is more than tools can show of a file "
                       "of this form; choose fewer (--window, --rank, --path), or "
                       "--perfetto",
                       base::printable(options.selection.trace), report::kMostChromeSlices)});
    }
  }
  if (!end) return fail(end.failure());
  if (const base::Result<void> done = file.finish(); !done) return fail(done.failure());
  return printAll(summaryOf(options, *end));
}

}  // namespace

void addExportCommand(base::Command program) {
  const auto options = std::make_shared<ExportOptions>();
  const base::Command command =
      program.subcommand("export", "The calls of a trace as a timeline or table for other tools");
  options->selection.addTo(command);
  const base::OptionHandle perfetto = command.flag(
      "--perfetto", options->perfetto, "A track of each thread, for Perfetto (ui.perfetto.dev)");
  const base::OptionHandle chrome =
      command
          .flag("--chrome", options->chrome,
                "The same in the JSON of Chrome's trace viewer, for small traces")
          .excludes(perfetto);
  command.flag("--csv", options->csv, "A line of comma-separated values for each call")
      .excludes(perfetto)
      .excludes(chrome);
  command.option("-o,--output", options->output, "The file to write").required().typeName("FILE");
  command.callback([options] { return runExport(*options); });
}

}  // namespace omnio::cli
