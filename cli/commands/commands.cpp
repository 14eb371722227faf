#include "cli/commands/commands.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <limits>
#include <string_view>
#include <vector>

#include "cli/output.hpp"
#include "core/base/printable.hpp"
#include "core/order/host_offsets.hpp"

namespace omnio::cli {
namespace {

void printUsageError(const base::Parsed& parsed, int argc, const char* const* argv) {
  const std::string meant =
      parsed.meant.empty() ? std::string() : fmt::format("; did you mean `{}`?", parsed.meant);
  if (!parsed.command.empty()) {
    printFailure(parsed.text + meant);
    fmt::print(stderr, "Try `omnio {} --help`.\n", parsed.command);
    return;
  }
  // The library only says that a subcommand is missing, whatever stands in its place.
  const bool unknown = argc > 1 && argv[1][0] != '-';
  printFailure(unknown ? fmt::format("unknown command `{}`{}", base::printable(argv[1]), meant)
                       : parsed.text);
  fmt::print(stderr, "Try `omnio --help`.\n");
}

}  // namespace

int run(int argc, const char* const* argv) {
  // `omnio help stats` is `omnio stats --help`.
  if (argc > 1 && argv[1] == std::string_view("help")) {
    std::vector<const char*> words = {argv[0]};
    if (argc > 2) words.push_back(argv[2]);
    words.push_back("--help");
    return run(static_cast<int>(words.size()), words.data());
  }
  const base::Program app(
      "Records the I/O of an application, replays it on another storage system, and estimates what "
      "it would take there.",
      "omnio");
  app.setVersion("omnio " OMNIO_VERSION);
  app.requireOneSubcommand();
  for (const auto add : {addTraceCommand, addLogCommand, addStatsCommand, addCollectCommand,
                         addPackCommand, addPhasesCommand, addPreprocessCommand, addReplayCommand,
                         addVerifyCommand, addIorCommand, addEstimateCommand, addCompareCommand,
                         addExportCommand, addReportCommand, addAdviseCommand, addDiffCommand}) {
    add(app);
  }
  std::string helped;
  app.subcommand("help", "What a command does, and its options").option("COMMAND", helped, "");

  try {
    const base::Parsed parsed = app.parse(argc, argv);
    if (parsed.outcome == base::Parsed::Outcome::kShown) return printAll(parsed.text);
    if (parsed.outcome == base::Parsed::Outcome::kRefused) {
      printUsageError(parsed, argc, argv);
      return kWrongUsage;
    }
    return parsed.exit_code;
  } catch (const std::exception& error) {
    // Out of memory, mostly: nothing else is thrown on purpose.
    printFailure(error.what());
    return kFailed;
  }
}

base::OptionHandle TraceSelection::addTrace(base::Command command) {
  return command.option("TRACE", trace, "The directory that `omnio trace -o` made").required();
}

void TraceSelection::addRank(base::Command command) {
  command.option("--rank", rank, "Only this rank").between(0, std::numeric_limits<int>::max());
}

void TraceSelection::addThread(base::Command command) {
  command
      .option("--thread", thread,
              "Only this thread of each process, from 0 in order of first event")
      .between(0, std::numeric_limits<int>::max());
}

base::Result<tracefile::Trace> TraceSelection::open() const { return order::openWithClocks(trace); }

}  // namespace omnio::cli
