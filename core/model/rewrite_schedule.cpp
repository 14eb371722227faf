#include "core/model/rewrite_schedule.hpp"

#include "core/model/schedule_reader.hpp"

namespace omnio::model {
Rewriter::Complaint Rewriter::global(const ScheduleGlobal& global) {
  writer_.global(global);
  return {};
}

Rewriter::Complaint Rewriter::file(FileNumber /*number*/, const ScheduleFile& file) {
  writer_.file(file);
  return {};
}

Rewriter::Complaint Rewriter::beginThread(const ScheduleThread& thread) {
  writer_.beginThread(thread);
  return {};
}

Rewriter::Complaint Rewriter::event(const ScheduleEvent& event) {
  writer_.event(event);
  return {};
}

Rewriter::Complaint Rewriter::endThread() {
  writer_.endThread();
  return {};
}

base::Result<void> rewriteSchedule(const std::filesystem::path& from,
                                   const std::filesystem::path& to, ScheduleForm form) {
  ScheduleWriter writer(to, form);
  if (const auto begun = writer.begun(); !begun) return begun;
  Rewriter rewriter(writer);
  if (const auto read = readSchedule(from, rewriter); !read) return read;
  return writer.finish();
}

}  // namespace omnio::model
