// The application's own files, which a replay may copy (--inputs copy). They are opened for reading
// alone, by the paths that were recorded.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "replay/plan/plan.hpp"
#include "replay/target/targets.hpp"

namespace omnio::replay {

// Fails where a file of the plan that is to be copied is not there, is not a regular file, has
// fewer bytes than were recorded, cannot be read, or lies in a target. One sentence names the
// first.
base::Result<void> checkSources(const Plan& plan, const Targets& targets);

// Open for reading, without a change of the time of its last access where the system allows that;
// -1 and errno.
int openSource(const std::string& path);

}  // namespace omnio::replay
