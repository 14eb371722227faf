// The control groups of this process (cgroups(7)), version 1 and 2.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace omnio::base {

// The path of the group from the root of its hierarchy, "/" for the root group, as
// /proc/self/cgroup has it. `controller` names the hierarchy of version 1 ("memory", "blkio"), ""
// that of version 2. Nothing where the process is in no such hierarchy.
std::optional<std::string> controlGroup(std::string_view controller);

}  // namespace omnio::base
