// Facts that accesses of a schedule depend on and no single event says: which files ranks share,
// and how many events there are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/model/schedule_reader.hpp"
#include "predict/access_time/call_accesses.hpp"

namespace omnio::access_time {

struct ScheduleFacts {
  std::vector<FileFacts> files;
  double events = 0;
  int rank_count = 0;
  std::string source;  // the trace
  std::vector<std::string> left_out;
  model::MemoryUse in_memory;
};

class ScheduleSurvey final : public model::ScheduleSink {
 public:
  Complaint global(const model::ScheduleGlobal& global) override;
  Complaint file(model::FileNumber number, const model::ScheduleFile& file) override;
  Complaint beginThread(const model::ScheduleThread& thread) override;
  Complaint event(const model::ScheduleEvent& event) override;
  bool takesLoops() const override { return true; }
  model::ScheduleSink* loop(const model::PassedLoop& passed, Complaint& complaint) override;

  // When the schedule has been passed.
  ScheduleFacts take();

 private:
  static constexpr int kNoRank = -1, kSeveral = -2;

  void use(std::size_t number);

  ScheduleFacts facts_;
  std::uint64_t single_events_ = 0;  // outside of loops
  int rank_ = 0;
  std::vector<int> users_;  // of each file
  std::map<std::string, std::uint32_t> folders_;
  std::vector<std::uint32_t> folder_of_;
  std::vector<int> folder_users_;
};

}  // namespace omnio::access_time
