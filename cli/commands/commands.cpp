#include "cli/commands/commands.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output.hpp"
#include "core/base/printable.hpp"
#include "core/order/host_offsets.hpp"
#include "logging/logging.hpp"

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

// run() turns its words into those of --help before they are parsed.
void addHelpCommand(const base::Program& app) {
  const auto helped = std::make_shared<std::string>();
  std::vector<std::string> names;
  for (const auto& command : app.description().subcommands) names.push_back(command.name);
  const base::Command command = app.subcommand("help", "What a command does, and its options");
  command.option("COMMAND", *helped, "The command; without it, all of them are listed")
      .suggest(names);
  command.callback([helped] { return kDone; });
}

}  // namespace

int run(int argc, const char* const* argv) {
  const base::Program app(
      "Records the I/O of an application, replays it on another storage system, and estimates what "
      "it would take there.",
      "omnio");
  app.setVersion("omnio " OMNIO_VERSION);
  app.requireOneSubcommand();
  for (const auto add :
       {addTraceCommand,    addLogCommand,     addStatsCommand,      addCollectCommand,
        addPackCommand,     addPhasesCommand,  addPreprocessCommand, addScheduleCommand,
        addReplayCommand,   addVerifyCommand,  addIorCommand,        addCalibrateCommand,
        addEstimateCommand, addCompareCommand, addEvaluateCommand,   addExportCommand,
        addReportCommand,   addAdviseCommand,  addDiffCommand,       addPredictCommand,
        addPrefetchCommand}) {
    add(app);
  }
  addCompletionCommand(app);
  addHelpCommand(app);

  // `omnio help stats` is `omnio stats --help`, and so with two words where the first is a command
  // that has commands. An unknown command is refused as it is by itself.
  std::vector<const char*> words(argv, argv + argc);
  const bool is_help = argc > 1 && words[1] == std::string_view("help");
  if (is_help && argc == 2) words[1] = "--help";
  const bool is_nested = is_help && argc == 4 && app.hasNestedCommands(words[2]);
  if (is_help && (argc == 3 || is_nested) && words[2][0] != '-') {
    words.erase(words.begin() + 1);
    if (app.hasSubcommand(words[1], is_nested ? words[2] : "")) words.push_back("--help");
  }
  const int count = static_cast<int>(words.size());
  // Commands with -v start it once more, by that.
  logging::start({.level = base::logLevelFor(0), .program = "omnio"});
  try {
    const base::Parsed parsed = app.parse(count, words.data());
    if (parsed.outcome == base::Parsed::Outcome::kShown) return printAll(parsed.text);
    if (parsed.outcome == base::Parsed::Outcome::kRefused) {
      printUsageError(parsed, count, words.data());
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
