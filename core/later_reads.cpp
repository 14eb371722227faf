#include "core/later_reads.hpp"

#include <string_view>

#include "core/wire/mpi_requests.hpp"

namespace omnio {
namespace {

using calls::Role;

bool isSplit(const calls::Row& row, std::string_view end) { return row.variant_of.ends_with(end); }

std::uint64_t keyOfRequest(std::uint64_t request) { return request << 1; }
std::uint64_t keyOfFile(const Handle& handle) {
  return static_cast<std::uint64_t>(handle.definition.handle) << 1 | 1;
}

}  // namespace

bool LaterReads::begins(const Event& event) {
  const calls::Row& row = *event.row;
  if (row.api != calls::Api::kMpi || row.call_class != calls::Class::kRead || event.failed) {
    return false;
  }
  if (isSplit(row, "_begin")) return event.handle != nullptr;
  // A request that was complete at once has no end of its own.
  return argumentOf(event, Role::kRequest) > 0;
}

void LaterReads::begin(const Event& event, std::size_t place, const Take& take) {
  const std::uint64_t key =
      isSplit(*event.row, "_begin")
          ? keyOfFile(*event.handle)
          : keyOfRequest(static_cast<std::uint64_t>(argumentOf(event, Role::kRequest)));
  Open& open = open_[key];
  if (open.bytes.empty()) {
    open.places.push_back(place);
    return;
  }
  take(place, open.bytes.front());
  open.bytes.erase(open.bytes.begin());
  if (open.bytes.empty()) open_.erase(key);
}

void LaterReads::ended(std::uint64_t key, std::uint64_t bytes, const Take& take) {
  Open& open = open_[key];
  if (open.places.empty()) {
    open.bytes.push_back(bytes);
    return;
  }
  take(open.places.front(), bytes);
  open.places.erase(open.places.begin());
  if (open.places.empty()) open_.erase(key);
}

void LaterReads::end(const Event& event, const Take& take) {
  const calls::Row& row = *event.row;
  if (row.api != calls::Api::kMpi) return;
  if (calls::has(row, Role::kDone)) {
    std::string_view list = event.pieces;
    wire::DoneRequest done;
    while (!list.empty() && wire::take(list, done)) {
      if (done.kind == wire::DoneRequest::kGot) {
        ended(keyOfRequest(done.request), done.bytes, take);
      }
    }
  } else if (isSplit(row, "_end") && calls::has(row, Role::kGot) && event.handle != nullptr) {
    // One that failed got nothing, and is the end of its begin all the same.
    ended(keyOfFile(*event.handle), static_cast<std::uint64_t>(argumentOf(event, Role::kGot)),
          take);
  }
}

}  // namespace omnio
