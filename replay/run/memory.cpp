#include "replay/run/memory.hpp"

#include <algorithm>
#include <fstream>
#include <string>

#include "replay/issue/buffers.hpp"
#include "replay/plan/lanes.hpp"

namespace omnio::replay {

std::uint64_t bytesIn(const char* path, std::string_view wanted) {
  std::ifstream facts(path);
  std::string key;
  for (std::uint64_t kib = 0; facts >> key;) {
    if (key == wanted && facts >> kib) return kib * 1024;
  }
  return UINT64_MAX;
}

ThreadsByProcess threadsByProcess(const Plan& plan, const Placement& placement) {
  ThreadsByProcess threads;
  for (const PlannedThread& thread : plan.threads) {
    const auto rank = static_cast<std::uint32_t>(thread.recorded.rank);
    threads[placement.processOf(rank)].push_back(&thread);
  }
  return threads;
}

MemoryNeeded memoryNeeded(const Plan& plan, const Placement& placement, const Content& content,
                          const std::function<bool(int process)>& is_here) {
  MemoryNeeded needed;
  std::uint64_t most = 0;
  for (const auto& [process, threads] : threadsByProcess(plan, placement)) {
    if (!is_here(process)) continue;
    for (const LargestRequests& lane : lanesOf(threads).largest) {
      needed.bytes += Buffers::bytesTouched(lane, content);
    }
    for (const PlannedThread* thread : threads) {
      const std::uint64_t bytes = Buffers::bytesTouched(*thread, content);
      if (needed.largest != nullptr && bytes <= most) continue;
      needed.largest = thread;
      most = bytes;
    }
  }
  return needed;
}

base::Result<void> checkMemory(const MemoryNeeded& needed, std::uint64_t available) {
  if (needed.largest == nullptr || needed.bytes <= available) return {};
  const PlannedThread& largest = *needed.largest;
  return base::failure(
      base::Code::kSystem,
      "the requests on this node need {} bytes of memory, and {} are available; the "
      "largest are those of recorded rank {}, thread {}: reads of {} bytes, writes of "
      "{}; use more nodes",
      needed.bytes, available, largest.recorded.rank, largest.recorded.thread, largest.read_moved,
      largest.write_request);
}

}  // namespace omnio::replay
