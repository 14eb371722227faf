#include "core/calls_below.hpp"

namespace omnio {

void CallsBelow::add(const Event& event) {
  if (event.row->call_class != calls::Class::kRead &&
      event.row->call_class != calls::Class::kWrite) {
    return;
  }
  constexpr std::size_t kMost = 4096;  // of one call; more are not worth it
  if (calls_.size() == kMost) calls_.pop_front();
  calls_.push_back({.file = event.file,
                    .call_class = event.row->call_class,
                    .has_offset = calls::has(*event.row, calls::Role::kOffset),
                    .offset = argumentOf(event, calls::Role::kOffset),
                    .bytes = event.bytes,
                    .start_ns = event.start_ns,
                    .end_ns = event.end_ns});
}

std::vector<Stride> CallsBelow::within(const Event& event) {
  StridedPieces pieces(64);
  bool is_known = !event.failed && event.bytes > 0;
  for (const Call& call : calls_) {
    if (call.start_ns < event.start_ns || call.end_ns > event.end_ns || call.file != event.file) {
      continue;
    }
    if (call.call_class != event.row->call_class || !call.has_offset) is_known = false;
    pieces.add({.first = call.offset,
                .bytes = static_cast<std::int64_t>(call.bytes),
                .stride = 0,
                .count = 1});
  }
  calls_.clear();
  if (!is_known || pieces.isFull() || pieces.bytes() != static_cast<std::int64_t>(event.bytes)) {
    return {};
  }
  return pieces.strides();
}

}  // namespace omnio
