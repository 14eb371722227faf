// A digest of what a schedule says, by which a replay is known to be of it. Two documents have the
// same digest when they differ in format alone: blanks, the order of keys, `repeat` written out.
// The source of the schedule, its command and its notes do not count.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/model/schedule_reader.hpp"

namespace omnio::replay {

// Passes a schedule on to another sink, and computes its digest on the way.
class DigestingSink final : public model::ScheduleSink {
 public:
  explicit DigestingSink(model::ScheduleSink& next) : next_(next) {}

  Complaint global(const model::ScheduleGlobal& global) override;
  Complaint file(model::FileNumber number, const model::ScheduleFile& file) override;
  Complaint beginThread(const model::ScheduleThread& thread) override;
  Complaint event(const model::ScheduleEvent& event) override;
  Complaint endThread() override;

  // When all of the schedule has been passed on: 16 hexadecimal digits.
  std::string text() const;

 private:
  void add(std::uint64_t value);
  void add(std::string_view text);
  void add(const std::vector<std::uint64_t>& list);
  template <typename T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void add(T value) { add(static_cast<std::uint64_t>(value)); }
  void addAll(const auto&... values) { (add(values), ...); }

  model::ScheduleSink& next_;
  std::uint64_t state_ = 0;
};

}  // namespace omnio::replay
