// Writes a schedule as a stream, an event a line. It appears under its name only when complete.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "core/base/result.hpp"
#include "core/model/schedule.hpp"

namespace omnio::model {

class ScheduleWriter {
 public:
  explicit ScheduleWriter(std::filesystem::path path);
  ScheduleWriter(const ScheduleWriter&) = delete;
  ScheduleWriter& operator=(const ScheduleWriter&) = delete;
  ~ScheduleWriter();  // without finish(), nothing is left

  // In the order of ScheduleSink. Errors are kept for finish().
  void global(const ScheduleGlobal& global);
  void file(const ScheduleFile& file);
  void beginThread(const ScheduleThread& thread);
  void event(const ScheduleEvent& event);
  void endThread();

  // Closes the document and gives it its name.
  std::optional<base::Failure> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace omnio::model
