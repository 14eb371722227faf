// Whether a recorded process still runs, and on which node this program does.
#pragma once

#include <cstdint>
#include <string>

namespace omnio {

// The kernel's boot id: two processes with the same one ran on the same node and share its clocks.
// Empty when the kernel does not tell.
std::string thisBoot();

// True when the process with this number that started at `start` (clock ticks since boot, as in
// field 22 of /proc/<pid>/stat) runs on this node. A zombie does not run, unless one of its
// other threads does.
bool isAlive(std::uint32_t pid, std::uint64_t start);

}  // namespace omnio
