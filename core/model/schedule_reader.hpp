// Reads a schedule as a stream: memory does not grow with the number of events.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "core/model/compact/event_loop.hpp"
#include "core/model/schedule.hpp"

namespace omnio::model {

// A loop of a thread.
struct PassedLoop {
  const EventLoop& loop;
  const std::optional<LoopTimes>& times;  // nothing: lines have the times of their events, or means
  // When the thread's event before has ended, and when the last one of the loop has.
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

// Takes the parts of a schedule in the document's order: global, all files, then each thread with
// its events. Each answers with why it cannot go on, or with nothing; the reader adds file, line
// and column. A sink overrides what it needs. What is passed lives until the call returns.
class ScheduleSink {
 public:
  ScheduleSink() = default;
  ScheduleSink(const ScheduleSink&) = delete;
  ScheduleSink& operator=(const ScheduleSink&) = delete;
  virtual ~ScheduleSink() = default;

  using Complaint = std::optional<std::string>;
  virtual Complaint global(const ScheduleGlobal&) { return {}; }
  virtual Complaint file(FileNumber, const ScheduleFile&) { return {}; }
  // Ranks come in order from 0, threads of a rank in order from 0; a rank may have none.
  virtual Complaint beginThread(const ScheduleThread&) { return {}; }
  virtual Complaint event(const ScheduleEvent&) { return {}; }
  virtual Complaint endThread() { return {}; }
  // Before the events of a line, or of a loop that begins there, which stand for several of the
  // recording and have mean times in place of exact ones. Again for each rank that shares it.
  virtual void meanTimes(std::size_t /*line*/) {}

  // Whether it may take loops as such; otherwise their events come one by one.
  virtual bool takesLoops() const { return false; }
  // Takes the loop, and answers with nullptr; or does nothing, and answers with the sink that gets
  // the events.
  virtual ScheduleSink* loop(const PassedLoop&, Complaint&) { return this; }
};

// Passes the schedule on to `sink`. Fails with one sentence that names file, line, column and
// reason: not JSON, not a schedule, of another version, cut off; unknown keys and calls; values
// of another type, negative sizes, flags and names that do not exist; locations that are not in the
// list of files or that lead out of the target ("..", "/", empty); nesting and strings beyond what
// a schedule has; descriptors that no event of the rank makes; ids used twice or `after` an id
// that no event has. Loops are passed on expanded, unless the sink takes them. What was passed on
// before a failure has no meaning.
// `times`: its file of times, where that has not got its name yet.
base::Result<void> readSchedule(const std::filesystem::path& path, ScheduleSink& sink,
                                const std::filesystem::path& times = {});

}  // namespace omnio::model
