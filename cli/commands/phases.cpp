// omnio phases: the I/O phases of an application, from its trace.
#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <memory>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/trace_selection.hpp"
#include "core/base/command_line.hpp"
#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"
#include "core/tracefile/completeness.hpp"
#include "phase_model/model_builder.hpp"
#include "phase_model/phase_table.hpp"

namespace omnio::cli {
namespace {

struct Options {
  TraceSelection selection;
  std::string output;
  phases::Options model;
  bool json = false;
};

// CLI11 would take -1 for the largest number there is.
std::string notACount(const std::string& word) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  return whole ? std::string()
               : fmt::format("{} is not a whole number from 0 to {}", base::printable(word),
                             std::numeric_limits<std::uint64_t>::max());
}

int work(const Options& options) {
  const std::optional<tracefile::Trace> trace = options.selection.open();
  if (!trace) return kFailed;
  const base::Result<model::PhaseModel> model = phases::makePhaseModel(*trace, options.model);
  if (!model) {
    printFailure(model.failure().sentence);
    return kFailed;
  }
  if (!model->source_whole) {
    printFailure(fmt::format("{}: the trace is not whole, and the model is that of what it has",
                             base::printable(options.selection.trace)));
  }
  for (const std::string& note : tracefile::assess(*trace).notes) {
    printFailure(fmt::format("{}: {}", base::printable(options.selection.trace), note));
  }
  if (!options.output.empty()) {
    if (const auto failure = model::writePhaseModel(options.output, *model)) {
      printFailure(failure->sentence);
      return kFailed;
    }
  }
  return options.json ? printJson(model::jsonOf(*model)) : printAll(phases::textOf(*model));
}

}  // namespace

void addPhasesCommand(base::Command program, int& exit_code) {
  const auto options = std::make_shared<Options>();
  const base::Command command = program.subcommand(
      "phases",
      "The I/O phases of the application: weight, request size, repetitions, f(initOffset)");
  options->selection.addTrace(command);
  command.option("-o,--output", options->output, "Writes the phase model, a JSON document");
  command
      .option("--gap", options->model.longest_gap,
              "MPI events other than file operations between two requests of a phase, at most")
      .check(notACount)
      .showDefault();
  command.flag("--json", options->json, "Prints the JSON document instead of tables");
  command.callback([options, &exit_code] { exit_code = work(*options); });
}

}  // namespace omnio::cli
