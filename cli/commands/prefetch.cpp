// omnio prefetch: runs a command, learns what it reads, and fetches what it will read next.
#include "core/wire/prefetch.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/trace/recording.hpp"
#include "cli/trace/trace_directory.hpp"
#include "core/base/printable.hpp"
#include "core/wire/run.hpp"
#include "core/wire/settings.hpp"
#include "predict/kept/kept_models.hpp"
#include "prefetch/helper.hpp"
#include "prefetch/orders.hpp"

namespace omnio::cli {
namespace {

struct PrefetchOptions {
  std::string output;
  std::string budget;
  PrefetchRequest request;
  std::vector<std::string> command;
  int verbosity = 0;
  bool off = false;
  bool on = false;
  // For the helper, which the tracer starts with this command.
  bool as_helper = false;
  bool keep_nothing = false;
  bool linger = false;
};

int tellHelpers(prefetch::Order order) {
  const std::size_t helpers = prefetch::sendToAll(order);
  if (helpers == 0) {
    printFailure("no run of this user is prefetched on this node");
    return kFailed;
  }
  return printAll(
      fmt::format("{} {}\n", helpers, helpers == 1 ? "helper was told" : "helpers were told"));
}

int beHelper(const PrefetchOptions& options) {
  const std::string rings = variable(wire::settingOf(wire::SettingId::kRingDirectory).variable);
  if (!rings.starts_with('/')) return kFailed;  // rings are in memory of their processes alone
  const auto helped = prefetch::help({.run = wire::parseRun(variable(wire::kRunVariable)),
                                      .ring_directory = rings,
                                      .directory = variable(wire::kDirectoryVariable),
                                      .keeps_nothing = options.keep_nothing,
                                      .lingers = options.linger,
                                      .socket = wire::kPrefetchSocket,
                                      .budget_bytes = options.request.budget_bytes,
                                      .model = options.request.model,
                                      .save_model = options.request.save_model});
  return helped ? kDone : fail(helped.failure());
}

int runPrefetch(PrefetchOptions& options) {
  if (!options.budget.empty()) {
    options.request.budget_bytes = static_cast<std::int64_t>(*wire::parseSize(options.budget));
  }
  if (options.as_helper) return beHelper(options);
  if (options.off || options.on) {
    return tellHelpers(options.off ? prefetch::Order::kOff : prefetch::Order::kOn);
  }
  if (!options.request.model.empty()) {
    const auto model = predict::KeptModels::open(options.request.model);
    if (!model) return runWithout(options.command, model.failure());
  }
  RecordingRequest request{.command = options.command,
                           .values = {},
                           .verbosity = options.verbosity,
                           .prefetch = options.request};
  const auto taken = request.values.takeEnvironment();
  if (!taken) return fail(taken.failure(), kOwnTrouble);
  request.prefetch->keeps_nothing = options.output.empty();
  if (!options.output.empty()) {
    request.values.take(wire::SettingId::kOutput, {options.output}, "--output");
  }
  return record(std::move(request));
}

}  // namespace

void addPrefetchCommand(base::Command program) {
  const auto options = std::make_shared<PrefetchOptions>();
  const base::Command command = program.subcommand(
      "prefetch", "Run COMMAND and fetch what it will read next; exits with the status of COMMAND");
  command.option("-o,--output", options->output, "Keep the trace, in this directory")
      .typeName("DIR");
  command
      .option(
          "--budget", options->budget,
          "The most bytes that are fetched and not yet read (default: a sixteenth of the memory "
          "that is available)")
      .typeName("SIZE")
      .check([](const std::string& word) {
        const auto size = wire::parseSize(word);
        return size && *size > 0 && *size >> 62 == 0 ? std::string() : "is not a size, such as 64M";
      });
  command.option("--json", options->request.json, "Write what came of it to this file")
      .typeName("FILE");
  command
      .option("--model", options->request.model,
              "What --save-model kept of an earlier run, to begin with")
      .typeName("FILE");
  command
      .option("--save-model", options->request.save_model,
              "Keep what was learnt in this file, for the next run")
      .typeName("FILE");
  command.flag("-q,--quiet", options->request.is_quiet, "Say nothing at the end");
  const base::OptionHandle off = command.flag(
      "--off", options->off, "Have the runs of this user on this node fetch nothing more");
  command.flag("--on", options->on, "Have them fetch again").excludes(off);
  command.flag("--as-helper", options->as_helper, "Be the helper of a run").hidden();
  command.flag("--keep-nothing", options->keep_nothing, "Remove what is left of the run").hidden();
  command.flag("--linger", options->linger, "Wait for more processes").hidden();
  command.countedFlag("-v,--verbose", options->verbosity,
                      "Say on standard error what it does; -vv: all of it");
  command.option("COMMAND", options->command, "The command and its arguments, after --");
  command.endOptionsAtFirstArgument();
  command.setExitStatuses({{"0 to 255", "the status of COMMAND; 128+N when signal N ended it"},
                           {"2", "wrong usage"},
                           {fmt::format("{}", kOwnTrouble), "the trace directory cannot be used"},
                           {"126, 127", "COMMAND could not be run, or was not found"}});
  command.callback([options] {
    const bool has_other = options->as_helper || options->off || options->on;
    if (options->command.empty() && !has_other) base::refuseMissing("a COMMAND to run");
    return runPrefetch(*options);
  });
}

}  // namespace omnio::cli
