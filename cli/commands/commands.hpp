// The subcommands of `omnio`. To add one:
//   1. write cli/commands/<name>.cpp with `void add<Name>Command(base::Command program, int&
//   exit_code)`;
//      it adds a subcommand, its options, and a callback that does the work;
//   2. declare it here, call it in application.cpp, name the file in cli/CMakeLists.txt;
//   3. describe it in docs/commands/<name>.md.
//
// The callback leaves the exit status in `exit_code` (exit_code.hpp) and reports failure with
// printFailure(). Options that are wrong in themselves are
// refused by application.cpp, with a hint and kWrongUsage. What `exit_code` refers to outlives the
// callback.
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
