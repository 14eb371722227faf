// Puts into a command's environment all that it needs to be traced.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "cli/trace/setting_values.hpp"
#include "cli/trace/trace_directory.hpp"
#include "core/base/result.hpp"
#include "core/tracefile/untraced.hpp"

namespace omnio::cli {

// The library to preload for one of kFlavours: for `auto` the one that can be all of them, and
// finds out in each process what that is. Looked for in `folder` alone when it is not empty, else
// beside this program as it is built or installed.
base::Result<std::filesystem::path> findLibrary(std::string_view flavour,
                                                const std::filesystem::path& folder);

// Sets the variables in this process's environment, for the command to inherit. What LD_PRELOAD
// already holds stays, behind ours. `directory` is the trace's.
void setEnvironment(const SettingValues& values, const ClaimedDirectory& directory,
                    const std::filesystem::path& library);

// Programs that a preloaded library cannot reach, or not without help.
struct CommandCheck {
  std::filesystem::path program;  // as exec would find it, in PATH where it has no slash
  tracefile::ProgramCheck check;
};
CommandCheck checkCommand(const std::string& command);

// Puts into this process's environment what the command needs to start with the tracer preloaded.
void prepareEnvironmentFor(const CommandCheck& command);

}  // namespace omnio::cli
