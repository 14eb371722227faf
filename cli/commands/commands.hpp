// The command `omnio` and its subcommands. To add one:
//   1. write cli/commands/<name>.cpp with `void add<Name>Command(base::Command program)`; it adds a
//      subcommand, its options, and a callback that does the work;
//   2. declare it here, name it in commands.cpp, and the file in cli/CMakeLists.txt;
//   3. describe it in docs/commands/<name>.md.
//
// The callback returns the exit status (cli/output.hpp) and reports failure with fail() or
// printFailure(). An option or argument that is missing is refused by base::refuseMissing(): run()
// prints the text with a hint and returns kWrongUsage.
#pragma once

#include <optional>
#include <string>

#include "core/base/command_line.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::cli {

// Parses the arguments, runs the subcommand, and returns the exit status: what main() calls, and
// tests.
int run(int argc, const char* const* argv);

void addTraceCommand(base::Command program);
void addLogCommand(base::Command program);
void addStatsCommand(base::Command program);
void addCollectCommand(base::Command program);
void addPackCommand(base::Command program);
void addPhasesCommand(base::Command program);
void addPreprocessCommand(base::Command program);
void addReplayCommand(base::Command program);
void addScheduleCommand(base::Command program);
void addVerifyCommand(base::Command program);
void addIorCommand(base::Command program);
void addEstimateCommand(base::Command program);
void addCalibrateCommand(base::Command program);
void addCompareCommand(base::Command program);
void addEvaluateCommand(base::Command program);
void addExportCommand(base::Command program);
void addReportCommand(base::Command program);
void addAdviseCommand(base::Command program);
void addDiffCommand(base::Command program);
void addPredictCommand(base::Command program);
void addPrefetchCommand(base::Command program);
// Call it last: its scripts have the commands that the program has by then, and this one.
void addCompletionCommand(const base::Program& program);

// The trace a command reads, and which part of it: TRACE, --rank, --thread.
struct TraceSelection {
  std::string trace;
  std::optional<int> rank;
  std::optional<unsigned> thread;

  // Adds the options to a command; the selection has to outlive it.
  base::OptionHandle addTrace(base::Command command);
  void addRank(base::Command command);
  void addThread(base::Command command);

  base::Result<tracefile::Trace> open() const;
};

}  // namespace omnio::cli
