// The subcommands of `omnio`. To add one:
//   1. write cli/commands/<name>.cpp with
//      `void add<Name>Command(base::Command program, int& exit_code)`; it adds a subcommand, its
//      options, and a callback that does the work;
//   2. declare it here, call it in application.cpp, name the file in cli/CMakeLists.txt;
//   3. describe it in docs/commands/<name>.md.
//
// The callback leaves the exit status in `exit_code` (cli/output.hpp), which outlives it, and
// reports failure with printFailure(). An option or argument that is missing is refused by
// base::refuseMissing(): application.cpp prints the text with a hint and returns kWrongUsage.
#pragma once

#include "core/base/command_line.hpp"

namespace omnio::cli {

void addTraceCommand(base::Command program, int& exit_code);
void addLogCommand(base::Command program, int& exit_code);
void addStatsCommand(base::Command program, int& exit_code);
void addCollectCommand(base::Command program, int& exit_code);
void addPackCommand(base::Command program, int& exit_code);
void addPhasesCommand(base::Command program, int& exit_code);
void addPreprocessCommand(base::Command program, int& exit_code);
void addReplayCommand(base::Command program, int& exit_code);
void addVerifyCommand(base::Command program, int& exit_code);
void addIorCommand(base::Command program, int& exit_code);
void addEstimateCommand(base::Command program, int& exit_code);

}  // namespace omnio::cli
