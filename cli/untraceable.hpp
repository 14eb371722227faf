// Programs that a preloaded library cannot reach.
#pragma once

#include <string>

namespace omnio::cli {

// Why this command cannot be traced, as "/bin/x is statically linked"; empty when it can be, or
// when that cannot be told. The command is looked for in PATH as exec would.
std::string whyUntraceable(const std::string& command);

}  // namespace omnio::cli
