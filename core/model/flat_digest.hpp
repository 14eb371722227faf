// A digest of what a schedule says of itself, its files, threads and events: of the lines that the
// flat form has for them. So it is the same for events that were read and for those that were
// written, and for every form. The order of the files does not count.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/model/event_json.hpp"
#include "core/model/schedule_reader.hpp"

namespace omnio::model {

class FlatDigest final : public ScheduleSink {
 public:
  Complaint global(const ScheduleGlobal& global) override;
  Complaint file(FileNumber number, const ScheduleFile& file) override;
  Complaint beginThread(const ScheduleThread& thread) override;
  Complaint event(const ScheduleEvent& event) override;

  std::uint64_t value() const;

 private:
  std::vector<std::string> locations_;
  std::string text_;
  base::JsonWriter json_{text_};
  EventJson<base::JsonWriter> event_json_{json_, locations_};
  std::uint64_t global_ = 0;
  std::uint64_t files_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace omnio::model
