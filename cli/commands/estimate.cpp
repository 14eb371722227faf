// omnio estimate: the I/O time of an application on a storage system, from benchmarks of its
// phases, or from a calibration of the storage.
#include "ior_bridge/estimate.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/access_time_plot.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"
#include "core/tracefile/trace.hpp"
#include "predict/access_time/estimate.hpp"
#include "predict/calibration/overview.hpp"
#include "statistics/report.hpp"

namespace omnio::cli {
namespace {

// The table is read at a glance.
constexpr std::size_t kRows = 20;

struct EstimateOptions {
  std::string model;
  std::vector<std::string> results;
  bool partial = false;
  bool json = false;
  bool all = false;
  std::optional<double> peak_mib_s;
  std::string calibration;
  std::string cache;
  std::string time_model;
  bool models = false;
  std::string plot;
};

// The I/O time of a run that is given beside a calibration: the trace of a replay or of a run of
// the application, or results of the phase runner.
base::Result<access_time::Beside> besideOf(const EstimateOptions& options, const std::string& word,
                                           stats::Layer layer) {
  constexpr double kNs = 1e-9;
  std::error_code error;
  if (std::filesystem::is_directory(word, error)) {
    const auto trace = tracefile::Trace::open(word);
    if (!trace) return trace.failure();
    const auto report = stats::makeReport(*trace, stats::By::kRank, {.layer = layer});
    if (!report) return report.failure();
    const double io_ns =
        report->ranks.empty() ? 0 : static_cast<double>(stats::slowestOf(report->ranks).io.total());
    return access_time::Beside{.name = word, .io_s = io_ns * kNs};
  }
  const auto model = model::readPhaseModel(options.model);
  if (!model) return model.failure();
  const auto estimate = ior::estimate(*model, {ior::givenResult(word)});
  if (!estimate) return estimate.failure();
  return access_time::Beside{.name = word, .io_s = estimate->time_s.median};
}

int runByCalibration(const EstimateOptions& options) {
  std::string models;
  std::vector<access_time::ModelErrors> errors;
  if (options.models) {
    const auto calibration = predict::readCalibration(options.calibration);
    if (!calibration) return fail(calibration.failure());
    errors = access_time::errorsOfAll(*calibration);
    if (!options.plot.empty()) {
      const auto written = writeAccessTimePlot(options.plot, *calibration, errors);
      if (!written) return fail(written.failure());
    }
    models = access_time::textOf(errors) + '\n' + predict::tablesText(*calibration) + '\n';
    if (options.model.empty()) {
      return options.json ? printJson(access_time::accessTimesJson(
                                *calibration, base::printable(options.calibration), errors))
                          : printAll(models);
    }
  }
  if (options.model.empty()) base::refuseMissing("MODEL");
  access_time::EstimateRequest request{.subject = options.model,
                                       .calibration = options.calibration};
  if (!options.cache.empty()) request.cache = predict::cacheStateOf(options.cache);
  for (const access_time::ModelKind kind : access_time::kModelKinds) {
    if (access_time::nameOf(kind) == options.time_model) request.model = kind;
  }
  auto estimate = access_time::estimate(request);
  if (!estimate) return fail(estimate.failure());
  // The figures beside the estimate add up the same parts as it does.
  const stats::Layer layer =
      estimate->has_mpi_calls ? stats::Layer::kApplication : stats::Layer::kPosix;
  for (const std::string& word : options.results) {
    auto beside = besideOf(options, word, layer);
    if (!beside) return fail(beside.failure());
    estimate->beside.push_back(std::move(*beside));
  }
  estimate->model_errors = std::move(errors);
  if (options.json) return printJson(access_time::jsonOf(*estimate));
  return printAll(models + access_time::textOf(*estimate));
}

// Options that do nothing beside each other.
std::optional<std::string> whyNotTogether(const EstimateOptions& options) {
  if (options.calibration.empty()) {
    if (!options.cache.empty()) return "--cache: only with --calibration";
    if (!options.time_model.empty()) return "--time-model: only with --calibration";
    if (options.models) return "--models: only with --calibration";
    if (!options.plot.empty()) return "--plot: only with --calibration and --models";
    return {};
  }
  if (options.partial) return "--partial: not with --calibration, which has all phases";
  if (options.peak_mib_s) return "--peak: not with --calibration";
  if (options.all) return "--all: not with --calibration";
  if (!options.plot.empty() && !options.models) return "--plot: only with --models";
  return {};
}

int runEstimate(const EstimateOptions& options) {
  if (const auto wrong = whyNotTogether(options)) {
    return fail({base::Code::kInvalid, *wrong}, kWrongUsage);
  }
  if (!options.calibration.empty()) return runByCalibration(options);
  if (options.model.empty()) base::refuseMissing("MODEL");
  if (options.results.empty()) base::refuseMissing("RESULT or --calibration");
  const base::Result<model::PhaseModel> model = model::readPhaseModel(options.model);
  if (!model) return fail(model.failure());
  if (model->phases.empty()) {
    return fail({base::Code::kInvalid,
                 fmt::format("{}: {}", base::printable(options.model), ior::kNothingInModel)});
  }
  std::vector<ior::GivenResult> results;
  for (const std::string& word : options.results) results.push_back(ior::givenResult(word));
  const base::Result<ior::Estimate> estimate = ior::estimate(*model, results);
  if (!estimate) return fail(estimate.failure());
  if (!estimate->missing.empty() && (!options.partial || estimate->phases.empty())) {
    printFailure(fmt::format("{}: no result for phase {} (--partial leaves them out)",
                             base::printable(options.model), fmt::join(estimate->missing, ", ")));
    return kFailed;
  }
  if (options.json) return printJson(ior::jsonOf(*estimate, options.peak_mib_s));
  return printAll(ior::textOf(*estimate, options.peak_mib_s,
                              options.all ? estimate->phases.size() : kRows, options.all));
}

}  // namespace

void addEstimateCommand(base::Command program) {
  const auto options = std::make_shared<EstimateOptions>();
  const base::Command command = program.subcommand(
      "estimate", "The I/O time on a storage system that was benchmarked or calibrated");
  command.option("MODEL", options->model,
                 "A phase model (omnio phases), or, with --calibration, a schedule");
  command.option(
      "RESULT", options->results,
      "Results of omnio-phase-run, the ior-plan.json of omnio ior beside its results, or "
      "IOR's JSON summaries: phase-ID.json, ID=FILE, ID=FILE#TEST; with --calibration "
      "also traces of replays and of the application");
  command.option("--calibration", options->calibration,
                 "Estimates from this calibration of the storage (omnio calibrate)");
  command
      .option("--cache", options->cache,
              "The cache state that the estimate is for: fails where the calibration has another")
      .oneOf({"cached", "direct", "cold"});
  command
      .option("--time-model", options->time_model,
              "The model of access times, in place of the one with the best totals")
      .oneOf({"linear", "table", "ann"});
  command.flag("--models", options->models,
               "With --calibration: its quartiles and correlations, and the errors of all models; "
               "MODEL may be left out");
  command
      .option("--plot", options->plot,
              "With --models: draws access times by size, and what the models predict (SVG)")
      .typeName("FILE.svg");
  command.flag("--partial", options->partial, "Leaves out phases without a result");
  command
      .option("--peak", options->peak_mib_s,
              "The storage's peak in MiB/s: adds how much of it the application used")
      .positive();
  command.flag("--all", options->all, "A row for each phase, not only for the 20 longest");
  command.flag("--json", options->json, "A JSON document instead of a table");
  command.callback([options] { return runEstimate(*options); });
}

}  // namespace omnio::cli
