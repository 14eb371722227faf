#include "cli/application.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "core/base/command_line.hpp"
#include "core/base/printable.hpp"

namespace omnio::cli {
namespace {

void printUsageError(const base::Parsed& parsed, int argc, const char* const* argv) {
  if (!parsed.command.empty()) {
    printFailure(parsed.text);
    fmt::print(stderr, "Try `omnio {} --help`.\n", parsed.command);
    return;
  }
  // The library only says that a subcommand is missing, whatever stands in its place.
  const bool unknown = argc > 1 && argv[1][0] != '-';
  printFailure(unknown ? fmt::format("there is no command `{}`", base::printable(argv[1]))
                       : parsed.text);
  fmt::print(stderr, "Try `omnio --help`.\n");
}

}  // namespace

int run(int argc, const char* const* argv) {
  int exit_code = kDone;
  const base::Program app(
      "Records the I/O of an application, replays it on another storage system, and estimates what "
      "it would take there.",
      "omnio");
  app.setVersion("omnio " OMNIO_VERSION);
  app.requireOneSubcommand();
  addTraceCommand(app, exit_code);
  addLogCommand(app, exit_code);
  addStatsCommand(app, exit_code);
  addCollectCommand(app, exit_code);
  addPackCommand(app, exit_code);
  addPhasesCommand(app, exit_code);
  addPreprocessCommand(app, exit_code);
  addReplayCommand(app, exit_code);
  addVerifyCommand(app, exit_code);
  addIorCommand(app, exit_code);
  addEstimateCommand(app, exit_code);

  try {
    const base::Parsed parsed = app.parse(argc, argv);
    if (parsed.outcome == base::Parsed::Outcome::kShown) return printAll(parsed.text);
    if (parsed.outcome == base::Parsed::Outcome::kRefused) {
      printUsageError(parsed, argc, argv);
      return kWrongUsage;
    }
  } catch (const std::exception& error) {
    // Out of memory, mostly: nothing else is thrown on purpose.
    printFailure(error.what());
    return kFailed;
  }
  return exit_code;
}

}  // namespace omnio::cli
