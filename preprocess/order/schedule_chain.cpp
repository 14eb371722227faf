#include "preprocess/order/schedule_chain.hpp"

#include <utility>

#include "core/event/io_time.hpp"

namespace omnio::preprocess {

void ScheduleChain::beginThread(const model::ScheduleThread& thread) {
  threads_.emplace_back();
  if (std::exchange(rank_, thread.rank) == thread.rank) return;
  group_of_fd_.clear();
  met_.clear();
}

void ScheduleChain::take(const model::ScheduleEvent& event) {
  order::ThreadChain& chain = threads_.back();
  for (const model::Wait& wait : event.after) {
    if (wait.id != 0) chain.after(wait.id);
  }
  if (event.step == model::Step::kCall) {
    const std::int64_t group = groupOf(event);
    if (group >= 0 && event::waitsForGroup(*event.row)) {
      chain.met(static_cast<std::uint32_t>(group), met_[group]++, event.start_ns, event.end_ns);
    } else {
      chain.call(event.start_ns, event.end_ns);
    }
  }
  if (event.id != 0) chain.ended(event.id);
}

std::int64_t ScheduleChain::groupOf(const model::ScheduleEvent& event) {
  if (!calls::isMpiIo(*event.row)) return -1;
  if (event.row->call_class == calls::Class::kOpen) {
    const std::int64_t group = model::argumentOf(event, calls::Role::kNewComm, -1);
    if (!event.failed) group_of_fd_[static_cast<std::int64_t>(event.new_fd)] = group;
    return group;
  }
  const auto found = group_of_fd_.find(static_cast<std::int64_t>(event.fd));
  return found == group_of_fd_.end() ? -1 : found->second;
}

}  // namespace omnio::preprocess
