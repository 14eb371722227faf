// The threads of a trace as a schedule has them: those of each rank in order, over all processes of
// the rank.
#pragma once

#include <memory>
#include <vector>

#include "core/event/event.hpp"
#include "core/event/path_table.hpp"
#include "core/model/schedule.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::preprocess {

struct SourceThread {
  model::ScheduleThread header;
  const tracefile::Process* process = nullptr;
  std::size_t process_index = 0;  // in Trace::processes()
  std::vector<const tracefile::Log*>
      lanes;  // the thread's own log, and that of its signal handlers

  // Its POSIX and stream calls, by the time they began (core/tracefile/log_reader.hpp).
  std::unique_ptr<event::EventSource> open(event::PathTable& paths) const;
};

struct SourceThreads {
  std::vector<SourceThread> threads;  // by rank, then as they come in the trace
  int ranks = 0;
  std::size_t processes_without_rank = 0;  // of a job's launcher or tools; left out
};
SourceThreads sourceThreads(const tracefile::Trace& trace);

}  // namespace omnio::preprocess
