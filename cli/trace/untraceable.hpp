// Programs that a preloaded library cannot reach, or not without help.
#pragma once

#include <filesystem>
#include <string>

#include "core/tracefile/untraced.hpp"

namespace omnio::cli {

struct CommandCheck {
  std::filesystem::path program;  // as exec would find it, in PATH where it has no slash
  tracefile::ProgramCheck check;
};
CommandCheck checkCommand(const std::string& command);

// Puts into this process's environment what the command needs to start with the tracer preloaded.
void prepareEnvironmentFor(const CommandCheck& command);

}  // namespace omnio::cli
