// omnio predict: how well the next operations of each process can be told from those before.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/call_selection.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "core/base/document_file.hpp"
#include "core/order/host_offsets.hpp"
#include "core/wire/path_pattern.hpp"
#include "predict/operations/prediction.hpp"
#include "report/line_plot.hpp"

namespace omnio::cli {
namespace {

struct PredictOptions {
  CallSelection selection;
  std::string earlier;
  std::size_t ahead = 8;
  std::string plot;
  bool json = false;
};

predict::Selection chosenOf(const CallSelection& options) {
  const stats::Selection chosen = options.chosen();
  predict::Selection selection{
      .rank = chosen.rank, .thread = chosen.thread, .window = chosen.window};
  if (!chosen.patterns.empty()) {
    selection.has_path = [patterns = chosen.patterns](std::string_view path) {
      const wire::PathParts parts{.directory = {}, .name = path};
      for (const std::string& pattern : patterns) {
        if (wire::matchesPattern(pattern, parts)) return true;
      }
      return false;
    };
  }
  return selection;
}

report::LinePlot plotOf(const predict::Prediction& prediction) {
  constexpr double kNsPerS = 1e9;
  const predict::HitTimeline& timeline = prediction.timeline;
  report::LinePlot plot{.title = "Hit ratio of the next operation's bytes",
                        .value_axis = "hit ratio (%)",
                        .bin_s = static_cast<double>(timeline.binNs()) / kNsPerS,
                        .lines = {}};
  for (std::size_t way = 0; way < predict::kWays; ++way) {
    report::PlotLine line{.name = std::string(titleOf(static_cast<predict::Way>(way))),
                          .values = {}};
    for (const predict::HitTimeline::Bin& bin : timeline.bins()) {
      line.values.push_back(bin.hits[way] == 0
                                ? std::nullopt
                                : std::optional(bin.hit[way] / static_cast<double>(bin.hits[way])));
    }
    plot.lines.push_back(std::move(line));
  }
  return plot;
}

int runPredict(const PredictOptions& options) {
  const ProgressLine progress;
  const base::Result<tracefile::Trace> trace = options.selection.open();
  if (!trace) return fail(trace.failure());
  std::optional<tracefile::Trace> earlier;
  if (!options.earlier.empty()) {
    base::Result<tracefile::Trace> opened = order::openWithClocks(options.earlier);
    if (!opened) return fail(opened.failure());
    earlier = std::move(*opened);
  }
  const base::Result<predict::Prediction> prediction = predict::predictOperations(
      *trace, chosenOf(options.selection), options.ahead, earlier ? &*earlier : nullptr);
  if (!prediction) return fail(prediction.failure());
  if (!options.plot.empty()) {
    const auto written = base::writeDocument(options.plot, report::svgOf(plotOf(*prediction)));
    if (!written) return fail(written.failure());
  }
  sayWhatIsMissing(options.selection.trace, prediction->wholeness);
  if (prediction->learnt_from) {
    sayWhatIsMissing(options.earlier, prediction->learnt_from->wholeness);
  }
  for (const std::string& sentence : tracefile::missingStackSentences(prediction->wholeness)) {
    printFailure(sentence);
  }
  const int status = options.json ? printJson(predict::jsonOf(*prediction))
                                  : printAll(predict::textOf(*prediction));
  return status == kDone && !prediction->wholeness.whole ? kDifferences : status;
}

}  // namespace

void addPredictCommand(base::Command program) {
  const auto options = std::make_shared<PredictOptions>();
  const base::Command command = program.subcommand(
      "predict", "How well the next operations of each process can be told from those before");
  options->selection.addTo(command);
  command
      .option("--ahead", options->ahead, "Predicts the next 1, 2, 4, ... up to so many operations")
      .typeName("N")
      .between(1, predict::kMostAhead)
      .showDefault();
  command
      .option("--learn-from", options->earlier,
              "A trace of an earlier run of the application, which the models learn from first")
      .typeName("EARLIER");
  command.option("--plot", options->plot, "Writes a picture (SVG) of the hit ratio over time")
      .typeName("FILE.svg");
  command.flag("--json", options->json, "A JSON document instead of tables");
  command.addExitStatus(fmt::format("{}", kDifferences),
                        "done, and the trace is not whole: something may be missing");
  command.callback([options] { return runPredict(*options); });
}

}  // namespace omnio::cli
