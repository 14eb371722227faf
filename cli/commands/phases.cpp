// omnio phases: the I/O phases of an application, from its trace.
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"
#include "core/tracefile/completeness.hpp"
#include "phase_model/model_builder.hpp"
#include "phase_model/phase_table.hpp"

namespace omnio::cli {
namespace {

struct PhasesOptions {
  TraceSelection selection;
  std::string output;
  phases::Options model;
  bool json = false;
};

int runPhases(const PhasesOptions& options) {
  const base::Result<tracefile::Trace> trace = options.selection.open();
  if (!trace) return fail(trace.failure());
  const base::Result<model::PhaseModel> model = phases::makePhaseModel(*trace, options.model);
  if (!model) return fail(model.failure());
  if (!model->source_whole) {
    printFailure(fmt::format("{}: the trace is not whole, and the model is that of what it has",
                             base::printable(options.selection.trace)));
  }
  for (const std::string& note : tracefile::assess(*trace).notes) {
    printFailure(fmt::format("{}: {}", base::printable(options.selection.trace), note));
  }
  if (!options.output.empty()) {
    const auto written = model::writePhaseModel(options.output, *model);
    if (!written) return fail(written.failure());
  }
  return options.json ? printJson(model::jsonOf(*model)) : printAll(phases::textOf(*model));
}

}  // namespace

void addPhasesCommand(base::Command program) {
  const auto options = std::make_shared<PhasesOptions>();
  const base::Command command = program.subcommand(
      "phases",
      "The I/O phases of the application: weight, request size, repetitions, f(initOffset)");
  options->selection.addTrace(command);
  command.option("-o,--output", options->output, "Writes the phase model, a JSON document");
  command
      .option("--gap", options->model.longest_gap,
              "MPI events other than file operations between two requests of a phase, at most")
      .between(0, std::numeric_limits<std::uint64_t>::max())
      .showDefault();
  command.flag("--json", options->json, "Prints the JSON document instead of tables");
  command.callback([options] { return runPhases(*options); });
}

}  // namespace omnio::cli
