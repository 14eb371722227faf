// Reads a schedule as a stream: memory does not grow with the number of events.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "core/model/schedule.hpp"

namespace omnio::model {

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
};

// Passes the schedule on to `sink`. Fails with one sentence that names file, line, column and
// reason: not JSON, not a schedule, of another version, cut off; unknown keys and calls; values
// of another type, negative sizes, flags and names that do not exist; locations that are not in the
// list of files or that lead out of the target ("..", "/", empty); nesting and strings beyond what
// a schedule has; descriptors that no event of the rank makes; ids used twice or `after` an id
// that no event has. `repeat` bodies are passed on expanded. What was passed on before a failure
// has no meaning.
base::Result<void> readSchedule(const std::filesystem::path& path, ScheduleSink& sink);

}  // namespace omnio::model
