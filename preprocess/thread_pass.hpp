// The third pass over a trace: the events of one thread as a schedule has them.
#pragma once
#include <cstdint>
#include <vector>

#include "core/event/event.hpp"
#include "preprocess/analysis.hpp"
#include "preprocess/files/mounts.hpp"
#include "preprocess/files/size_rules.hpp"
#include "preprocess/order/communication.hpp"
#include "preprocess/order/dependencies.hpp"
#include "preprocess/order/step_ids.hpp"
#include "preprocess/preprocess.hpp"
#include "preprocess/writing_thread.hpp"

namespace omnio::preprocess {

// All outlive the pass.
struct ThreadPassInput {
  const SourceThread& thread;
  std::uint32_t place = 0;    // of the thread in the sources
  Analysis& analysis;         // whose pass is over
  const MountPoints& mounts;  // of the thread's node
  const CommunicationOrder& order;
  const StepIds& ids;
  const std::vector<Dependencies::Waiting>& waiting;  // of the thread
  const Settings& settings;
  const SizeRules& sizes;
};

struct ThreadWritten {
  std::uint64_t events = 0;          // of the trace
  std::uint64_t edges = 0;           // waits for events
  std::uint64_t bytes_recorded = 0;  // that its calls moved, and move in the schedule:
  std::uint64_t bytes_scaled = 0;
};

ThreadWritten writeThread(const ThreadPassInput& input, event::PathTable& paths,
                          WritingThread& writer);

}  // namespace omnio::preprocess
