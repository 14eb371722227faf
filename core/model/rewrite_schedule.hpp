// Writes a schedule again, in another form.
#pragma once

#include <filesystem>

#include "core/base/result.hpp"
#include "core/model/schedule_reader.hpp"
#include "core/model/schedule_writer.hpp"

namespace omnio::model {

// Writes what it is given, event by event. The writer has to outlive it.
class Rewriter final : public ScheduleSink {
 public:
  explicit Rewriter(ScheduleWriter& writer) : writer_(writer) {}

  Complaint global(const ScheduleGlobal& global) override;
  Complaint file(FileNumber number, const ScheduleFile& file) override;
  Complaint beginThread(const ScheduleThread& thread) override;
  Complaint event(const ScheduleEvent& event) override;
  Complaint endThread() override;

 private:
  ScheduleWriter& writer_;
};

// Reads `from` and writes `to`, which may have the same name. What it says stays the same; blanks,
// the order of files and comments do not. On failure `to` stays as it was.
base::Result<void> rewriteSchedule(const std::filesystem::path& from,
                                   const std::filesystem::path& to, ScheduleForm form);

}  // namespace omnio::model
