// The replay itself, in each of its processes.
#pragma once

#include <filesystem>

#include "replay/launch.hpp"
#include "replay/run/session.hpp"

namespace omnio::replay {

// Prepares files, replays, reports. Returns the exit status; ends all processes with a sentence
// when it cannot go on.
int run(Session& session, const Request& request, const std::filesystem::path& tree);

}  // namespace omnio::replay
