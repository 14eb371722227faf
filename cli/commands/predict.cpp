// omnio predict: how well the next operations of each process can be told from those before; which
// these are, at a moment of the run; and what it would gain to fetch what they read.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/call_selection.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/page_file.hpp"
#include "cli/prediction_curves.hpp"
#include "cli/progress_line.hpp"
#include "core/base/document_file.hpp"
#include "core/base/printable.hpp"
#include "core/order/host_offsets.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/run_window.hpp"
#include "core/wire/path_pattern.hpp"
#include "predict/kept/kept_models.hpp"
#include "predict/kept/kept_models_writer.hpp"
#include "predict/operations/earlier_run.hpp"
#include "predict/operations/forecast.hpp"
#include "predict/operations/prediction.hpp"
#include "prefetch/simulation.hpp"

namespace omnio::cli {
namespace {

constexpr std::uint64_t kUsualNext = 10;

struct PredictOptions {
  CallSelection selection;
  std::string earlier;
  std::string model;
  std::string saved;
  std::size_t ahead = 8;
  std::string plot;
  std::string page;
  std::string figures;
  std::string at;
  std::optional<std::uint64_t> next;
  std::string within;
  bool prefetch = false;
  std::optional<std::uint64_t> delay_us;
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

// Prints the operations that come next at a moment; there are no scores.
int runForecast(const PredictOptions& options, const tracefile::Trace& trace,
                const predict::EarlierRun* earlier) {
  const std::size_t shown = options.next.value_or(kUsualNext);
  base::Result<predict::Forecast> forecast = predict::forecast(
      trace, options.selection.rank, options.selection.thread, *tracefile::readTime(options.at),
      options.within.empty() ? shown : predict::Forecast::kMostNext, earlier);
  if (!forecast) return fail(forecast.failure());
  forecast->shown = shown;
  if (!options.within.empty()) forecast->window_ns = *tracefile::readTime(options.within);
  sayWhatIsMissing(options.selection.trace, forecast->wholeness);
  const int status =
      options.json ? printJson(predict::jsonOf(*forecast)) : printAll(predict::textOf(*forecast));
  return status == kDone && !forecast->wholeness.whole ? kDifferences : status;
}

// Prints what would have been fetched and gained; there are no scores.
int runSimulation(const PredictOptions& options, const tracefile::Trace& trace,
                  const predict::EarlierRun* earlier) {
  constexpr std::int64_t kNsPerUs = 1000;
  const std::int64_t delay_ns = options.delay_us
                                    ? static_cast<std::int64_t>(*options.delay_us) * kNsPerUs
                                    : prefetch::kUsualDelayNs;
  const base::Result<prefetch::Simulation> simulation =
      prefetch::simulate(trace, options.selection.rank, delay_ns, earlier);
  if (!simulation) return fail(simulation.failure());
  sayWhatIsMissing(options.selection.trace, simulation->wholeness);
  const int status = options.json ? printJson(prefetch::jsonOf(*simulation))
                                  : printAll(prefetch::textOf(*simulation));
  return status == kDone && !simulation->wholeness.whole ? kDifferences : status;
}

std::optional<base::Failure> wrongUseOf(const PredictOptions& options) {
  const char* sentence = nullptr;
  if (options.at.empty() && options.next) {
    sentence = "--next goes with --at alone";
  } else if (options.at.empty() && !options.within.empty()) {
    sentence = "--within goes with --at alone";
  } else if (!options.at.empty() &&
             !(options.selection.paths.empty() && options.selection.window.empty())) {
    sentence = "--at tells all that comes next: --path and --window do not go with it";
  } else if (!options.prefetch && options.delay_us) {
    sentence = "--delay-us goes with --prefetch alone";
  } else if (options.prefetch && !(options.selection.paths.empty() &&
                                   options.selection.window.empty() && !options.selection.thread)) {
    sentence =
        "--prefetch follows all that a rank does: --thread, --path and --window do not go with it";
  }
  if (sentence == nullptr) return std::nullopt;
  return base::Failure{base::Code::kInvalid, sentence};
}

// The earlier run that the models continue, if one was given.
struct Before {
  std::optional<tracefile::Trace> trace;
  std::unique_ptr<predict::EarlierRun> run;
};

base::Result<void> openBefore(const PredictOptions& options, Before& before) {
  if (!options.earlier.empty()) {
    base::Result<tracefile::Trace> opened = order::openWithClocks(options.earlier);
    if (!opened) return opened.failure();
    before.trace = std::move(*opened);
    before.run =
        std::make_unique<predict::EarlierTrace>(*before.trace, options.selection.chosen().thread);
  }
  if (!options.model.empty()) {
    auto opened = predict::KeptModels::open(options.model);
    if (!opened) return opened.failure();
    before.run = std::move(*opened);
  }
  return {};
}

// Writes the page and the pictures that were asked for.
base::Result<void> draw(const PredictOptions& options, const predict::Prediction& prediction) {
  if (!options.page.empty()) {
    const auto bytes =
        writePage(options.page, report::PageKind::kPrediction, pageDataOf(prediction));
    if (!bytes) return bytes.failure();
  }
  if (options.plot.empty() && options.figures.empty()) return {};
  const std::vector<report::Figure> figures = figuresOf(prediction);
  if (!options.plot.empty()) {
    const auto written = base::writeDocument(options.plot, figures.front().svg);
    if (!written) return written.failure();
  }
  return options.figures.empty() ? base::Result<void>() : writeFigures(options.figures, figures);
}

void sayWhatEarlierLacks(const PredictOptions& options, const Before& before) {
  if (before.trace) {
    sayWhatIsMissing(options.earlier, tracefile::assess(*before.trace));
  } else if (before.run != nullptr && !before.run->isWhole()) {
    printFailure(fmt::format("{}: it learnt from a trace that is not whole",
                             base::printable(options.model)));
  }
}

int runPredict(const PredictOptions& options) {
  if (const auto wrong = wrongUseOf(options)) return fail(*wrong, kWrongUsage);
  const ProgressLine progress;
  const base::Result<tracefile::Trace> trace = options.selection.open();
  if (!trace) return fail(trace.failure());
  Before before;
  if (const auto opened = openBefore(options, before); !opened) return fail(opened.failure());
  if (!options.at.empty() || options.prefetch) {
    const int status = options.prefetch ? runSimulation(options, *trace, before.run.get())
                                        : runForecast(options, *trace, before.run.get());
    if (status == kDone || status == kDifferences) sayWhatEarlierLacks(options, before);
    return status;
  }
  std::optional<predict::KeptModelsWriter> writer;
  predict::KeepModels keep;
  if (!options.saved.empty()) {
    const bool is_whole =
        tracefile::assess(*trace).whole && (before.run == nullptr || before.run->isWhole());
    writer.emplace(options.saved, predict::programsOf(*trace), is_whole);
    if (const auto made = writer->state(); !made) return fail(made.failure());
    keep = [&writer](predict::RankKey rank, predict::RankModels models) {
      writer->add(rank, std::move(models));
    };
  }
  base::Result<predict::Prediction> prediction = predict::predictOperations(
      *trace, chosenOf(options.selection), options.ahead, before.run.get(), keep);
  if (!prediction) return fail(prediction.failure());
  if (writer) {
    if (const auto written = writer->finish(); !written) return fail(written.failure());
  }
  prediction->version = OMNIO_VERSION;
  if (const auto drawn = draw(options, *prediction); !drawn) return fail(drawn.failure());
  sayWhatIsMissing(options.selection.trace, prediction->wholeness);
  sayWhatEarlierLacks(options, before);
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
  const auto isTime = [](const std::string& word) {
    const base::Result<std::int64_t> read = tracefile::readTime(word);
    return read ? std::string() : read.failure().sentence;
  };
  const base::OptionHandle at =
      command
          .option(
              "--at", options->at,
              "The operations that come next at this time of the run, in seconds, and what came")
          .typeName("TIME")
          .check(isTime);
  command
      .option("--within", options->within,
              "With --at: how many operations come within so many seconds, and how many before a "
              "pause as long")
      .typeName("TIME")
      .check(isTime);
  command
      .option("--next", options->next,
              fmt::format("With --at: so many operations of each thread [{}]", kUsualNext))
      .typeName("N")
      .between(1, predict::Forecast::kMostNext);
  const base::OptionHandle prefetch =
      command
          .flag("--prefetch", options->prefetch,
                "What `omnio prefetch` would fetch, and how much shorter the run would be")
          .excludes(at);
  command
      .option("--delay-us", options->delay_us,
              "With --prefetch: a request comes so many microseconds after the operation that it "
              "follows from [200]")
      .typeName("N")
      .between(0, 1'000'000'000);
  command
      .option("--ahead", options->ahead, "Predicts the next 1, 2, 4, ... up to so many operations")
      .typeName("N")
      .between(1, predict::kMostAhead)
      .showDefault()
      .excludes(at)
      .excludes(prefetch);
  const auto earlier =
      command
          .option("--learn-from", options->earlier,
                  "A trace of an earlier run of the application, which the models learn from first")
          .typeName("EARLIER");
  command
      .option("--model", options->model,
              "What --save-model kept of an earlier run of the application, which the models go on "
              "with")
      .typeName("FILE")
      .excludes(earlier);
  command.option("--save-model", options->saved, "Keeps what the models know at the end in a file")
      .typeName("FILE")
      .excludes(at)
      .excludes(prefetch);
  command.option("--plot", options->plot, "Writes a picture (SVG) of the hit ratio over time")
      .typeName("FILE.svg")
      .excludes(at)
      .excludes(prefetch);
  command
      .option("--figures", options->figures,
              "Writes pictures (SVG) of how well it went along the run into this directory")
      .typeName("DIR")
      .excludes(at)
      .excludes(prefetch);
  command
      .option("--page", options->page,
              "Writes a page for the browser: these curves, and the tables")
      .typeName("PAGE")
      .excludes(at)
      .excludes(prefetch);
  command.flag("--json", options->json, "A JSON document instead of tables");
  command.addExitStatus(fmt::format("{}", kDifferences),
                        "done, and the trace is not whole: something may be missing");
  command.callback([options] { return runPredict(*options); });
}

}  // namespace omnio::cli
