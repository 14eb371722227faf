// Whether a recorded process still runs, and on which node this program does.
#pragma once

#include <cstdint>
#include <string>

namespace omnio {

// The kernel's boot id: two processes with the same one ran on the same node and share its clocks.
// Empty when the kernel does not tell.
std::string thisBoot();

// The kernel's name for the numbering of processes that holds here ("pid:[4026531836]"). A process
// of another one, in a container say, cannot be told from a dead one. Empty when the kernel does
// not tell.
std::string thisPidNamespace();

// Where this program runs: which recorded processes it can see.
struct ThisNode {
  std::string boot = thisBoot();
  std::string pids = thisPidNamespace();

  // Whether a process of that boot and namespace ("" of older traces: not told) can be seen.
  bool sees(const std::string& its_boot, const std::string& its_pids) const {
    return !its_boot.empty() && its_boot == boot && (its_pids.empty() || its_pids == pids);
  }
};

// True when the process with this number that started at `start` (clock ticks since boot, as in
// field 22 of /proc/<pid>/stat) runs on this node. A zombie does not run, unless one of its
// other threads does.
bool isAlive(std::uint32_t pid, std::uint64_t start);

}  // namespace omnio
