// Runs a command as a child and waits for it, as `env` or `time` would.
#pragma once

#include <string>
#include <vector>

namespace omnio::cli {

struct ChildEnd {
  int start_error = 0;  // errno when the command could not be started, else 0
  int status = 0;       // its exit status
  int signal = 0;       // that ended it, or 0

  // As a shell has it: the status, 128+n for a signal, 126 and 127 when it did not start.
  int exitCode() const;
};

// Signals that ask this process to stop or do something are the command's: they are passed on to
// it, and `also_pass_on` (0: none) with them. Those the terminal sends to the whole group reach it
// by themselves.
// The command's stderr is the descriptor `error_output`, if one is given.
ChildEnd runChild(const std::vector<std::string>& command, int also_pass_on = 0,
                  int error_output = -1);

}  // namespace omnio::cli
