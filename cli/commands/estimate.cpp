// omnio estimate: the I/O time of an application on a storage system, from benchmarks of its
// phases.
#include "ior_bridge/estimate.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"

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
};

int runEstimate(const EstimateOptions& options) {
  const base::Result<model::PhaseModel> model = model::readPhaseModel(options.model);
  if (!model) return fail(model.failure());
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
  return printAll(
      ior::textOf(*estimate, options.peak_mib_s, options.all ? estimate->phases.size() : kRows));
}

}  // namespace

void addEstimateCommand(base::Command program) {
  const auto options = std::make_shared<EstimateOptions>();
  const base::Command command = program.subcommand(
      "estimate", "The I/O time on a storage system where the phases were benchmarked");
  command.option("MODEL", options->model, "A phase model (omnio phases)").required();
  command
      .option("RESULT", options->results,
              "Results of omnio-phase-run, or IOR's JSON summaries: phase-ID.json, ID=FILE, "
              "ID=FILE#TEST")
      .required();
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
