#include "core/event/deferred_reads.hpp"

#include <algorithm>
#include <string_view>

#include "core/wire/mpi_requests.hpp"

namespace omnio::event {
namespace {

using calls::Effect;
using calls::Role;

}  // namespace

bool onlyBegins(const Event& event) {
  const calls::Row& row = *event.row;
  if (row.api != calls::Api::kMpi || !transfersData(event) || event.failed) return false;
  // A request that was complete at once has no end of its own.
  return calls::does(row, Effect::kSplitBegin) || argumentOf(event, Role::kRequest) > 0;
}

bool LaterReads::begins(const Event& event) {
  return event.row->call_class == calls::Class::kRead && onlyBegins(event) &&
         (!calls::does(*event.row, Effect::kSplitBegin) || event.handle != nullptr);
}

void LaterReads::begin(const Event& event, std::size_t place, const Take& take) {
  if (calls::does(*event.row, Effect::kSplitBegin)) {
    Halves& halves = split_[event.handle->definition.handle];
    if (order_ == Order::kByTime) halves.clear();  // one that was never ended
    halves.push_back({event.start_ns, false, place});
    return;
  }
  const auto request = static_cast<std::uint64_t>(argumentOf(event, Role::kRequest));
  if (const auto found = ended_.extract(request)) {
    take(place, found.mapped());
  } else {
    begun_[request] = place;
  }
}

void LaterReads::ended(std::uint64_t request, std::uint64_t bytes, const Take& take) {
  if (const auto found = begun_.extract(request)) {
    take(found.mapped(), bytes);
  } else {
    ended_[request] = bytes;
  }
}

void LaterReads::end(const Event& event, const Take& take) {
  const calls::Row& row = *event.row;
  if (row.api != calls::Api::kMpi) return;
  if (calls::has(row, Role::kDone)) {
    std::string_view list = event.pieces;
    wire::DoneRequest done;
    while (!list.empty() && wire::take(list, done)) {
      if (done.kind == wire::DoneRequest::kGot) ended(done.request, done.bytes, take);
    }
  } else if (calls::does(row, Effect::kSplitEnd) && calls::has(row, Role::kGot) &&
             event.handle != nullptr) {
    // One that failed got nothing, and is the end of its begin all the same.
    const auto file = split_.try_emplace(event.handle->definition.handle).first;
    file->second.push_back(
        {event.start_ns, true, static_cast<std::uint64_t>(argumentOf(event, Role::kGot))});
    if (order_ == Order::kByLog) return;
    settle(file->second, take);
    split_.erase(file);
  }
}

// A file handle has one split collective at a time (MPI-3.1, section 13.4.5), so that an end is of
// the begin that stands right before it, if one does.
void LaterReads::settle(Halves& halves, const Take& take) {
  std::ranges::stable_sort(halves, {}, &Half::start_ns);
  for (std::size_t i = 1; i < halves.size(); ++i) {
    if (halves[i].is_end && !halves[i - 1].is_end) take(halves[i - 1].value, halves[i].value);
  }
}

void LaterReads::finish(const Take& take) {
  for (auto& [file, halves] : split_) settle(halves, take);
  split_.clear();
}

}  // namespace omnio::event
