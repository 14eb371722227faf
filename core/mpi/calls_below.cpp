#include "core/mpi/calls_below.hpp"

#include <algorithm>

#include "core/mpi/data_layout.hpp"

namespace omnio::mpi {
namespace {

// An offset of -1 is the position (preadv2, pwritev2), others below 0 and beyond any file are
// damage.
bool isInAFile(std::int64_t offset, std::uint64_t bytes) {
  return offset >= 0 && offset <= DataLayout::kMost && bytes <= std::uint64_t{DataLayout::kMost};
}

}  // namespace

void CallsBelow::add(const event::Event& event) {
  if (event.row->call_class != calls::Class::kRead &&
      event.row->call_class != calls::Class::kWrite) {
    return;
  }
  constexpr std::size_t kMost = 4096;  // of one call; more are not worth it
  if (calls_.size() == kMost) calls_.pop_front();
  calls_.push_back(
      {.file = event.file,
       .call_class = event.row->call_class,
       .has_offset = calls::has(*event.row, calls::Role::kOffset) &&
                     isInAFile(event::argumentOf(event, calls::Role::kOffset), event.bytes),
       .offset = event::argumentOf(event, calls::Role::kOffset),
       .bytes = event.bytes,
       .start_ns = event.start_ns,
       .end_ns = event.end_ns});
}

std::optional<CallsBelow::Moved> CallsBelow::within(const event::Event& event) {
  constexpr std::size_t kMostPieces = 64;
  StridedPieces pieces(kMostPieces);
  Moved moved{.begin = DataLayout::kMost, .end = 0, .pieces = {}};
  bool is_known = !event.failed && event.bytes > 0;
  bool is_one_way = true;
  for (const Call& call : calls_) {
    if (call.start_ns < event.start_ns || call.end_ns > event.end_ns || call.file != event.file) {
      continue;
    }
    is_known = is_known && call.has_offset;
    if (!is_known) break;
    if (call.call_class != event.row->call_class) {  // to write back what lies between
      is_one_way = false;
    } else if (call.bytes > 0) {
      const auto bytes = static_cast<std::int64_t>(call.bytes);
      moved.begin = std::min(moved.begin, call.offset);
      moved.end = std::max(moved.end, call.offset + bytes);
      pieces.add({.first = call.offset, .bytes = bytes, .stride = 0, .count = 1});
    }
  }
  calls_.clear();
  if (!is_known || moved.end == 0) return {};
  if (is_one_way && !pieces.isFull() && pieces.bytes() == static_cast<std::int64_t>(event.bytes)) {
    moved.pieces = pieces.strides();
  }
  return moved;
}

}  // namespace omnio::mpi
