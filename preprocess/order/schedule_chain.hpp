// The chain (core/order/io_chain.hpp) of the recorded run, from the events of its schedule.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/model/schedule.hpp"
#include "core/order/io_chain.hpp"

namespace omnio::preprocess {

class ScheduleChain {
 public:
  // As in a schedule: ranks and threads in their order, then the events of the thread.
  void beginThread(const model::ScheduleThread& thread);
  void take(const model::ScheduleEvent& event);

  std::int64_t longest() const { return order::longestChain(threads_); }

 private:
  // The group of the file that a call of MPI-IO works on, by index in the schedule; -1: none.
  std::int64_t groupOf(const model::ScheduleEvent& event);

  std::vector<order::ThreadChain> threads_;
  int rank_ = -1;
  // Both belong to the rank.
  std::unordered_map<std::int64_t, std::int64_t> group_of_fd_;
  std::unordered_map<std::int64_t, std::uint32_t> met_;  // by group
};

}  // namespace omnio::preprocess
