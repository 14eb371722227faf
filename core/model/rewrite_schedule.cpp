#include "core/model/rewrite_schedule.hpp"

#include "core/model/schedule_reader.hpp"

namespace omnio::model {
namespace {

class Rewriter final : public ScheduleSink {
 public:
  explicit Rewriter(ScheduleWriter& writer) : writer_(writer) {}

  Complaint global(const ScheduleGlobal& global) override {
    writer_.global(global);
    return {};
  }
  Complaint file(FileNumber /*number*/, const ScheduleFile& file) override {
    writer_.file(file);
    return {};
  }
  Complaint beginThread(const ScheduleThread& thread) override {
    writer_.beginThread(thread);
    return {};
  }
  Complaint event(const ScheduleEvent& event) override {
    writer_.event(event);
    return {};
  }
  Complaint endThread() override {
    writer_.endThread();
    return {};
  }

 private:
  ScheduleWriter& writer_;
};

}  // namespace

base::Result<void> rewriteSchedule(const std::filesystem::path& from,
                                   const std::filesystem::path& to, ScheduleForm form) {
  ScheduleWriter writer(to, form);
  Rewriter rewriter(writer);
  if (const auto read = readSchedule(from, rewriter); !read) return read;
  return writer.finish();
}

}  // namespace omnio::model
