// The memory that the requests of a replay need on a node. Buffers are touched before the clock
// starts: the kernel promises memory that is not there, and ends a process when it is wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "replay/plan/placement.hpp"
#include "replay/plan/plan.hpp"
#include "replay/target/content.hpp"

namespace omnio::replay {

// The threads stay the plan's.
using ThreadsByProcess = std::map<int, std::vector<const PlannedThread*>>;
ThreadsByProcess threadsByProcess(const Plan& plan, const Placement& placement);

struct MemoryNeeded {
  std::uint64_t bytes = 0;
  const PlannedThread* largest =
      nullptr;  // the plan's thread that needs most; none without threads
};
// `is_here`: whether a process is on the node.
MemoryNeeded memoryNeeded(const Plan& plan, const Placement& placement, const Content& content,
                          const std::function<bool(int process)>& is_here);

base::Result<void> checkMemory(const MemoryNeeded& needed, std::uint64_t available);

// The number behind a key in a file of /proc, in bytes; UINT64_MAX when the kernel does not say.
std::uint64_t bytesIn(const char* path, std::string_view wanted);

}  // namespace omnio::replay
