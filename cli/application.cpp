#include "cli/application.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "core/base/printable.hpp"

namespace omnio::cli {
namespace {

// The subcommand that was chosen, for the hint: the deepest one whose options were being read.
const CLI::App& chosen(const CLI::App& app) {
  const auto subcommands = app.get_subcommands();
  return subcommands.empty() ? app : *subcommands.front();
}

void printUsageError(const CLI::App& app, const CLI::ParseError& error, int argc,
                     const char* const* argv) {
  const CLI::App& where = chosen(app);
  if (&where != &app) {
    printFailure(error.what());
    fmt::print(stderr, "Try `omnio {} --help`.\n", where.get_name());
    return;
  }
  // The library only says that a subcommand is missing, whatever stands in its place.
  const bool unknown = argc > 1 && argv[1][0] != '-';
  printFailure(unknown ? fmt::format("there is no command `{}`", base::printable(argv[1]))
                       : std::string(error.what()));
  fmt::print(stderr, "Try `omnio --help`.\n");
}

}  // namespace

int run(int argc, const char* const* argv) {
  int exit_code = kDone;
  CLI::App app(
      "Records the I/O of an application, replays it on another storage system, and estimates what "
      "it "
      "would take there.",
      "omnio");
  app.set_version_flag("--version", "omnio " OMNIO_VERSION);
  app.require_subcommand(1);
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
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return app.exit(error) == 0 ? kDone : kFailed;  // --help and --version
    }
    printUsageError(app, error, argc, argv);
    return kWrongUsage;
  } catch (const std::exception& error) {
    // Out of memory, mostly: nothing else is thrown on purpose.
    printFailure(error.what());
    return kFailed;
  }
  return exit_code;
}

}  // namespace omnio::cli
