// omnio ior: the phases of an application as runs of IOR, or runs that find the peak of a system.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"
#include "ior_bridge/ior/emit.hpp"

namespace omnio::cli {
namespace {

struct IorOptions {
  std::string model;
  std::string directory;
  std::string api = "model";
  std::string fsync;
  ior::PlanOptions plan;
  bool json = false;
  bool peak = false;
  std::optional<int> tasks;
  std::optional<int> task_mib;
  std::vector<std::string> io_nodes;
};

template <typename Plan>
int putOut(const Plan& plan, const IorOptions& options) {
  if (!options.directory.empty()) {
    if (const auto emitted = ior::emit(plan, options.directory); !emitted) {
      return fail(emitted.failure());
    }
  }
  return options.json ? printJson(ior::jsonOf(plan)) : printAll(ior::textOf(plan));
}

base::Failure badUse(std::string sentence) { return {base::Code::kInvalid, std::move(sentence)}; }

int runPeak(const IorOptions& options) {
  if (!options.fsync.empty()) {
    return fail(badUse("--peak does not go with --fsync: a peak is of the storage, not of the page "
                       "cache"),
                kWrongUsage);
  }
  if (options.model.empty() && !options.tasks) {
    return fail(badUse("--peak: give --tasks, or a MODEL whose number of processes is taken"),
                kWrongUsage);
  }
  ior::PeakOptions wanted;
  if (options.tasks) {
    wanted.tasks = *options.tasks;
  } else {
    const base::Result<model::PhaseModel> model = model::readPhaseModel(options.model);
    if (!model) return fail(model.failure());
    wanted.tasks = model->processes;
  }
  if (options.task_mib) wanted.task_bytes = static_cast<std::uint64_t>(*options.task_mib) << 20;
  if (options.api == "MPIIO") wanted.api = ior::Api::kMpiIo;
  wanted.iterations = options.plan.iterations;
  for (const std::string& word : options.io_nodes) {
    base::Result<ior::IoNode> node = ior::ioNodeOf(word);
    if (!node) return fail(node.failure(), kWrongUsage);
    for (const ior::IoNode& other : wanted.nodes) {
      if (other.name != node->name) continue;
      return fail(badUse("\"" + node->name + "\" names two I/O nodes"), kWrongUsage);
    }
    wanted.nodes.push_back(std::move(*node));
  }
  return putOut(ior::peakPlanFor(wanted), options);
}

int runIor(const IorOptions& options) {
  if (options.peak) return runPeak(options);
  if (options.tasks || options.task_mib || !options.io_nodes.empty()) {
    return fail(badUse("--tasks, --task-mib and --io-node go with --peak alone"), kWrongUsage);
  }
  if (options.model.empty()) base::refuseMissing("MODEL");
  const base::Result<model::PhaseModel> model = model::readPhaseModel(options.model);
  if (!model) return fail(model.failure());
  ior::PlanOptions wanted = options.plan;
  for (const auto& [fsync, word] : ior::kFsyncWords) {
    if (word == options.fsync) wanted.fsync = fsync;
  }
  if (options.api == "POSIX") wanted.api = ior::Api::kPosix;
  if (options.api == "MPIIO") wanted.api = ior::Api::kMpiIo;
  return putOut(ior::planFor(*model, wanted), options);
}

}  // namespace

void addIorCommand(base::Command program) {
  const auto options = std::make_shared<IorOptions>();
  const base::Command command = program.subcommand(
      "ior", "The families of phases as command lines of IOR, and what IOR cannot express of them");
  command.option("MODEL", options->model,
                 "A phase model (omnio phases); with --peak, only its number of processes");
  command.option("--emit", options->directory,
                 "Writes a script for each start of IOR and one for all into this directory; with "
                 "--peak, peak.sh");
  command
      .option("--api", options->api,
              "IOR's backend; model: the one of each phase, with --peak POSIX")
      .oneOf({"model", "POSIX", "MPIIO"})
      .showDefault();
  command
      .option("--fsync", options->fsync,
              "Whether writes end with an fsync (-e); model: where the application had one")
      .oneOf({"model", "always", "never"});
  command.option("--iterations", options->plan.iterations, "Runs of each, 1 to 1000, for a spread")
      .between(1, 1000)
      .showDefault();
  command.flag("--peak", options->peak,
               "Runs that find the peak write and read bandwidths of a storage system instead");
  command.option("--tasks", options->tasks, "With --peak: processes of IOR").between(1, 1 << 24);
  command
      .option("--task-mib", options->task_mib,
              "With --peak: MiB that each process transfers in a run (1024)")
      .between(1, 1 << 24);
  command
      .option("--io-node", options->io_nodes,
              "With --peak, NAME=DIR: an I/O node, and a directory whose files it alone holds; the "
              "peaks of all that are given are summed; may be given more than once")
      .repeatable();
  command.flag("--json", options->json, "A JSON document instead of command lines");
  command.callback([options] { return runIor(*options); });
}

}  // namespace omnio::cli
