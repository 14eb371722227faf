// The subcommands of `omnio`. To add one:
//   1. write cli/<name>_command.cpp with `void add<Name>Command(CLI::App& app, int& exit_code)`;
//      it adds a subcommand, its options, and a callback that does the work;
//   2. declare it here, call it in application.cpp, name the file in cli/CMakeLists.txt;
//   3. describe it in docs/commands/<name>.md.
//
// The callback leaves the exit status in `exit_code` (exit_code.hpp) and reports failure with
// printFailure(). Options that are wrong in themselves throw a CLI::ValidationError:
// application.cpp prints it with a hint and exits with kWrongUsage. What `app` and `exit_code`
// refer to outlives the callback.
#pragma once

namespace CLI {
class App;
}

namespace omnio::cli {

void addTraceCommand(CLI::App& app, int& exit_code);
void addLogCommand(CLI::App& app, int& exit_code);
void addStatsCommand(CLI::App& app, int& exit_code);
void addCollectCommand(CLI::App& app, int& exit_code);
void addPackCommand(CLI::App& app, int& exit_code);
void addPhasesCommand(CLI::App& app, int& exit_code);
void addPreprocessCommand(CLI::App& app, int& exit_code);
void addReplayCommand(CLI::App& app, int& exit_code);
void addVerifyCommand(CLI::App& app, int& exit_code);
void addIorCommand(CLI::App& app, int& exit_code);
void addEstimateCommand(CLI::App& app, int& exit_code);

}  // namespace omnio::cli
