// Counts the events of a schedule, and refuses endless ones: a `repeat` is short to write.
#pragma once

#include <cstdint>

#include "core/model/schedule_reader.hpp"

namespace omnio::fuzz {

class ScheduleCounter final : public model::ScheduleSink {
 public:
  static constexpr std::uint64_t kEnough = 100000;

  Complaint global(const model::ScheduleGlobal&) override { return {}; }
  Complaint file(model::FileNumber, const model::ScheduleFile&) override { return {}; }
  Complaint beginThread(const model::ScheduleThread&) override { return {}; }
  Complaint event(const model::ScheduleEvent& event) override {
    if (event.step == model::Step::kCall) ++calls_;
    if (++events_ > kEnough) return "more events than are looked at here";
    return {};
  }
  Complaint endThread() override { return {}; }

  std::uint64_t events() const { return events_; }
  std::uint64_t calls() const { return calls_; }

 private:
  std::uint64_t events_ = 0;
  std::uint64_t calls_ = 0;
};

}  // namespace omnio::fuzz
