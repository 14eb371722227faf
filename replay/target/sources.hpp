// The application's own files, which a replay may copy or read in place (--inputs). They are opened
// for reading alone, by the paths that were recorded.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "replay/plan/plan.hpp"
#include "replay/target/prepare.hpp"
#include "replay/target/targets.hpp"

namespace omnio::replay {

// Fails where a file of the plan that is to be copied or read is not there, is not a regular file,
// has fewer bytes than were recorded, cannot be read, or lies in a target. One sentence names the
// first.
base::Result<void> checkSources(const Plan& plan, Targets targets,
                                const std::filesystem::path& node_local);

// The files of the plan that are read in place.
std::vector<const PlannedFile*> filesInPlace(const Plan& plan);
// Brings the page cache of this node into the state that is wanted of them; the processes of a node
// share the work.
void settleSources(const Plan& plan, Cache cache, Share share);

// Open for reading, without a change of the time of its last access where the system allows that;
// -1 and errno.
int openSource(const std::string& path);

}  // namespace omnio::replay
