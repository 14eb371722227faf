// omnio ior: the phases of an application as runs of IOR.
#include <memory>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "core/model/phase_model.hpp"
#include "ior_bridge/ior/emit.hpp"

namespace omnio::cli {
namespace {

struct IorOptions {
  std::string model;
  std::string directory;
  std::string api = "model";
  bool no_fsync = false;
  ior::PlanOptions plan;
  bool json = false;
};

int runIor(const IorOptions& options) {
  const base::Result<model::PhaseModel> model = model::readPhaseModel(options.model);
  if (!model) return fail(model.failure());
  ior::PlanOptions wanted = options.plan;
  wanted.fsync = !options.no_fsync;
  if (options.api == "POSIX") wanted.api = ior::Api::kPosix;
  if (options.api == "MPIIO") wanted.api = ior::Api::kMpiIo;
  const ior::IorPlan plan = ior::planFor(*model, wanted);
  if (!options.directory.empty()) {
    if (const auto emitted = ior::emit(plan, options.directory); !emitted) {
      return fail(emitted.failure());
    }
  }
  return options.json ? printJson(ior::jsonOf(plan)) : printAll(ior::textOf(plan));
}

}  // namespace

void addIorCommand(base::Command program) {
  const auto options = std::make_shared<IorOptions>();
  const base::Command command = program.subcommand(
      "ior", "The phases as command lines of IOR, and what IOR cannot express of them");
  command.option("MODEL", options->model, "A phase model (omnio phases)").required();
  command.option("--emit", options->directory,
                 "Writes a script for each phase and one for all into this directory");
  command.option("--api", options->api, "IOR's backend; model: the one of each phase")
      .oneOf({"model", "POSIX", "MPIIO"})
      .showDefault();
  command.flag("--no-fsync", options->no_fsync,
               "Leaves what was written in the page cache (no -e)");
  command.option("--iterations", options->plan.iterations, "Runs of each, 1 to 1000, for a spread")
      .between(1, 1000)
      .showDefault();
  command.flag("--json", options->json, "A JSON document instead of command lines");
  command.callback([options] { return runIor(*options); });
}

}  // namespace omnio::cli
