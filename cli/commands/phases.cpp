// omnio phases: the I/O phases of an application, from its trace; and of more processes, from
// models.
#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "core/base/document_file.hpp"
#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"
#include "core/tracefile/completeness.hpp"
#include "phase_model/growth.hpp"
#include "phase_model/local_patterns.hpp"
#include "phase_model/model_builder.hpp"
#include "phase_model/phase_table.hpp"
#include "preprocess/preprocess.hpp"
#include "report/global_pattern.hpp"

namespace omnio::cli {
namespace {

struct PhasesOptions {
  TraceSelection selection;
  std::string output;
  phases::Options model;
  bool json = false;
  std::string schedule = "auto";
  std::string other_model;
  std::optional<int> ranks;
  std::string scaling;
  bool lap = false;
  std::string plot;
};

// "app.phases.json" has "app.phases.schedule.json" beside it.
std::filesystem::path scheduleOf(std::filesystem::path model) {
  if (model.extension() == ".json") model.replace_extension();
  return model += ".schedule.json";
}

// The phases of the model, for the steps of a schedule.
class PhasesOfSteps final : public preprocess::PhaseOfStep {
 public:
  explicit PhasesOfSteps(const phases::StepPhases& phases) : phases_(phases) {}

  int phaseOf(std::size_t process, std::uint32_t thread, std::uint64_t step,
              const event::Event& event) const override {
    auto& of_thread = threads_[{process, thread}];
    if (!of_thread) of_thread.emplace(phases_, process, thread);
    return of_thread->at(step, event);
  }

 private:
  const phases::StepPhases& phases_;
  mutable std::map<std::pair<std::size_t, std::uint32_t>, std::optional<phases::PhasesOfThread>>
      threads_;
};

// Returns the chain of the recorded run.
base::Result<std::optional<std::int64_t>> makeSchedule(const tracefile::Trace& trace,
                                                       const phases::StepPhases& steps,
                                                       const std::filesystem::path& output) {
  const PhasesOfSteps phases(steps);
  preprocess::Settings settings;
  settings.layer = event::IoLayer::kMpi;
  settings.phases = &phases;
  settings.partial = true;
  settings.chain = true;
  const auto made =
      preprocess::preprocess(trace, tracefile::assess(trace), settings, scheduleOf(output));
  if (!made) return made.failure();
  return made->chain_ns;
}

// A schedule has about 110 bytes a call.
constexpr std::uint64_t kMostScheduledCalls = 20'000'000;

bool wantsSchedule(const PhasesOptions& options, const tracefile::Trace& trace) {
  if (options.output.empty() || options.schedule == "no") return false;
  if (options.schedule == "yes") return true;
  const std::uint64_t events = trace.storedEvents();
  if (events <= kMostScheduledCalls) return true;
  printFailure(
      fmt::format("{}: {} events; a schedule of them is left out (--schedule yes writes it)",
                  base::printable(options.selection.trace), events));
  return false;
}

int show(const PhasesOptions& options, const model::PhaseModel& model) {
  if (!options.output.empty()) {
    const auto written = model::writePhaseModel(options.output, model);
    if (!written) return fail(written.failure());
  }
  if (!options.plot.empty()) {
    const base::Result<std::string> svg = report::globalPatternOf(model);
    if (!svg) {
      printFailure(
          fmt::format("{}: {}", base::printable(options.selection.trace), svg.failure().sentence));
      return kFailed;
    }
    const auto written = base::writeDocument(options.plot, *svg);
    if (!written) return fail(written.failure());
  }
  if (options.lap) {
    return options.json ? printJson(phases::localPatternJson(model))
                        : printAll(phases::localPatternText(model));
  }
  return options.json ? printJson(model::jsonOf(model)) : printAll(phases::textOf(model));
}

// Shows a model that was written before.
int showModel(const PhasesOptions& options) {
  const std::string& path = options.selection.trace;
  if (!options.output.empty()) {
    printFailure(fmt::format("{}: is a phase model; -o writes that of a trace, or with --ranks",
                             base::printable(path)));
    return kWrongUsage;
  }
  const base::Result<model::PhaseModel> model = model::readPhaseModel(path);
  return model ? show(options, *model) : fail(model.failure());
}

int growPhases(const PhasesOptions& options) {
  if (options.scaling.empty()) base::refuseMissing("--scaling");
  std::vector<model::PhaseModel> models;
  for (const std::string& path : {options.selection.trace, options.other_model}) {
    if (path.empty()) continue;
    base::Result<model::PhaseModel> model = model::readPhaseModel(path);
    if (!model) return fail(model.failure());
    models.push_back(std::move(*model));
  }
  const auto scaling =
      options.scaling == "weak" ? phases::Scaling::kWeak : phases::Scaling::kStrong;
  const auto grown = phases::growModel(models, *options.ranks, scaling);
  if (!grown) return fail(grown.failure());
  return show(options, *grown);
}

int runPhases(const PhasesOptions& options) {
  const ProgressLine progress;
  if (options.ranks) return growPhases(options);
  if (!options.other_model.empty() || !options.scaling.empty()) base::refuseMissing("--ranks");
  std::error_code error;
  if (std::filesystem::is_regular_file(options.selection.trace, error)) return showModel(options);
  const base::Result<tracefile::Trace> trace = options.selection.open();
  if (!trace) return fail(trace.failure());
  base::Result<phases::MadeModel> made = phases::makePhaseModel(*trace, options.model);
  if (!made) return fail(made.failure());
  model::PhaseModel* const model = &made->model;
  if (!model->source_whole) {
    printFailure(fmt::format("{}: the trace is not whole, and the model is that of what it has",
                             base::printable(options.selection.trace)));
  }
  const tracefile::Wholeness wholeness = tracefile::assess(*trace);
  for (const std::string& note : wholeness.notes) {
    printFailure(fmt::format("{}: {}", base::printable(options.selection.trace), note));
  }
  if (wantsSchedule(options, *trace)) {
    const auto chain_ns = makeSchedule(*trace, made->steps, options.output);
    if (chain_ns) {
      model->schedule = scheduleOf(options.output).filename().native();
      model->chain_ns = *chain_ns;
    } else if (options.schedule == "yes" || chain_ns.failure().code != base::Code::kInvalid) {
      return fail(chain_ns.failure());
    } else {
      printFailure(fmt::format("{}; the model has no schedule", chain_ns.failure().sentence));
    }
  }
  return show(options, *model);
}

}  // namespace

void addPhasesCommand(base::Command program) {
  const auto options = std::make_shared<PhasesOptions>();
  const base::Command command = program.subcommand(
      "phases",
      "The I/O phases of the application: weight, request size, repetitions, f(initOffset)");
  options->selection.addTrace(command);
  command.option("MODEL", options->other_model,
                 "With --ranks, where TRACE is a phase model: one of another number of processes");
  command
      .option("--ranks", options->ranks,
              "The phases with so many processes, from the phase models TRACE and MODEL")
      .between(1, 1 << 24);
  command
      .option("--scaling", options->scaling,
              "With --ranks: weak, where each process moves as much whatever their number; strong, "
              "where all of them together do")
      .oneOf({"weak", "strong"});
  command.option("-o,--output", options->output, "Writes the phase model, a JSON document");
  command
      .option("--gap", options->model.longest_gap,
              "MPI events other than file operations between two requests of a phase, at most")
      .between(0, std::numeric_limits<std::uint64_t>::max())
      .showDefault();
  command
      .option("--schedule", options->schedule,
              "Whether -o writes a schedule beside the model, for omnio-phase-run; auto: of traces "
              "that are not too large")
      .oneOf({"auto", "yes", "no"})
      .showDefault();
  command.flag("--lap", options->lap,
               "Prints the local access patterns of the processes: rep, request size, disp, "
               "offsetInit and ticks");
  command.option("--plot", options->plot,
                 "Writes a picture (SVG) of the global access pattern: offset, tick and process");
  command.flag("--json", options->json, "Prints the JSON document instead of tables");
  command.callback([options] { return runPhases(*options); });
}

}  // namespace omnio::cli
