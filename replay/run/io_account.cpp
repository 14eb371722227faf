#include "replay/run/io_account.hpp"

#include <algorithm>

namespace omnio::replay {

std::vector<PhaseIo> ioOf(std::uint32_t rank, const std::vector<const ThreadCalls*>& threads,
                          const std::vector<std::int64_t>& waits) {
  std::map<std::int32_t, PhaseIo> by_phase;
  const auto of = [&](std::int32_t phase) -> PhaseIo& {
    PhaseIo& found = by_phase[phase];
    found.rank = rank;
    found.phase = phase;
    return found;
  };
  // Each thread's calls come by their start; threads are merged.
  std::vector<std::size_t> next(threads.size(), 0);
  event::IoUnion all;
  for (;;) {
    std::size_t first = threads.size();
    for (std::size_t i = 0; i < threads.size(); ++i) {
      const auto& calls = threads[i]->calls();
      if (next[i] == calls.size()) continue;
      const bool is_earlier =
          first == threads.size() ||
          calls[next[i]].start_ns < threads[first]->calls()[next[first]].start_ns;
      if (is_earlier) first = i;
    }
    if (first == threads.size()) break;
    const ThreadCalls::Call& call = threads[first]->calls()[next[first]++];
    std::int64_t waited_ns = 0;
    if (call.meeting >= 0 && static_cast<std::size_t>(call.meeting) < waits.size()) {
      waited_ns =
          std::clamp<std::int64_t>(waits[static_cast<std::size_t>(call.meeting)] - call.start_ns, 0,
                                   call.end_ns - call.start_ns);
    }
    of(call.phase).time += all.add({.kind = call.kind,
                                    .start_ns = call.start_ns,
                                    .end_ns = call.end_ns,
                                    .waited_ns = waited_ns});
  }
  for (const ThreadCalls* thread : threads) {
    for (const auto& [phase, time] : thread->beyond()) of(phase).time += time;
    for (const auto& [phase, moved] : thread->moved()) {
      ThreadCalls::Moved& into = of(phase).moved;
      into.calls += moved.calls;
      for (int i = 0; i < 2; ++i) {
        into.bytes[i] += moved.bytes[i];
        into.requests[i] += moved.requests[i];
        into.data_ns[i] += moved.data_ns[i];
      }
    }
  }
  std::vector<PhaseIo> result;
  for (auto& [phase, io] : by_phase) result.push_back(io);
  return result;
}

}  // namespace omnio::replay
