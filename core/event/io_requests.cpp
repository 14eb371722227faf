#include "core/event/io_requests.hpp"

#include <string_view>

#include "core/wire/mpi_requests.hpp"

namespace omnio::event {

void IoRequests::takeBelow(const Event& event) {
  const calls::Row& row = *event.row;
  if (row.call_class != calls::Class::kAsync || !calls::has(row, calls::Role::kRequest)) return;
  begun_below_.insert(static_cast<std::uint64_t>(argumentOf(event, calls::Role::kRequest)));
}

bool IoRequests::endsBelow(const Event& event) {
  if (begun_below_.empty() || !calls::isIo(*event.row) ||
      !calls::does(*event.row, calls::Effect::kEndsTransfer)) {
    return false;
  }
  const std::int64_t request = argumentOf(event, calls::Role::kRequest);
  return begun_below_.erase(static_cast<std::uint64_t>(request)) > 0;
}

bool IoRequests::take(const Event& event) {
  const calls::Row& row = *event.row;
  if (row.api != calls::Api::kMpi) return false;
  done_.clear();
  has_others_ = false;
  if (calls::isMpiIo(row)) {
    const std::int64_t request = argumentOf(event, calls::Role::kRequest);
    if (request > 0 && !event.failed) open_.insert(static_cast<std::uint64_t>(request));
    return true;
  }
  if (!calls::has(row, calls::Role::kDone) || open_.empty()) return false;
  std::string_view list = event.pieces;
  wire::DoneRequest done;
  while (!list.empty() && wire::take(list, done)) {
    if (open_.erase(done.request) > 0) {
      done_.push_back(done.request);
    } else {
      has_others_ = true;
    }
  }
  return !done_.empty();
}

}  // namespace omnio::event
