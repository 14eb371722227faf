#include "preprocess/files/size_scale.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/event/event.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::preprocess {

using calls::Class;
using calls::Role;

namespace {

// cp asks for all there may be, which is as much at any scale.
constexpr std::uint64_t kAll = std::uint64_t{1} << 62;
constexpr std::int64_t kMappedPage = 4096;  // the least that is mapped

std::uint64_t lengthOf(const ScaleMap& map, std::optional<std::uint64_t> from,
                       std::uint64_t bytes) {
  if (bytes >= kAll) return bytes;
  const std::uint64_t begin = from.value_or(0);
  const std::uint64_t scaled = map.position(begin + bytes) - map.position(begin);
  return bytes > 0 ? std::max<std::uint64_t>(scaled, 1) : 0;
}

// A distance whose ends are not known.
std::int64_t distance(const ScaleMap& map, std::int64_t bytes) {
  const auto scaled =
      static_cast<std::int64_t>(map.position(static_cast<std::uint64_t>(std::abs(bytes))));
  return bytes < 0 ? -scaled : scaled;
}

void scalePieces(std::vector<std::uint64_t>& pieces, const ScaleMap& map,
                 std::optional<std::uint64_t> from, std::uint64_t request) {
  std::uint64_t at = from.value_or(0);
  std::uint64_t all = 0;
  std::uint64_t* first = nullptr;
  for (std::uint64_t& piece : pieces) {
    const std::uint64_t scaled = map.position(at + piece) - map.position(at);
    at += piece;
    if (piece > 0 && first == nullptr) first = &piece;
    piece = scaled;
    all += scaled;
  }
  if (first != nullptr && all < request) *first += request - all;
}

// The offset that the seek is given leads where the seek came to.
std::int64_t soughtOffset(const model::ScheduleEvent& event, std::int64_t offset,
                          std::optional<std::uint64_t> sought, const ScaleMap& map) {
  const int index = calls::indexOf(*event.row, Role::kWhence);
  const std::int64_t whence =
      index < 0 ? SEEK_SET : event.arguments[static_cast<std::size_t>(index)];
  if ((whence != SEEK_CUR && whence != SEEK_END) || !sought || event.failed)
    return distance(map, offset);
  const std::int64_t before = static_cast<std::int64_t>(*sought) - offset;
  if (before < 0) return distance(map, offset);
  return static_cast<std::int64_t>(map.position(*sought)) -
         static_cast<std::int64_t>(map.position(static_cast<std::uint64_t>(before)));
}

// Whether the bytes that the call moves are as many in the schedule.
bool keepsSize(const model::ScheduleEvent& event, std::uint64_t moved, const WorkedAt& at,
               const ScaleMap& map, std::uint64_t keep_below) {
  if (!map.keepsSome() || countedBytes(*event.row, event.request, moved) >= keep_below)
    return false;
  if (!at.offset) return false;
  if (at.is_guess) return true;
  return map.position(*at.offset + moved) - map.position(*at.offset) == moved;
}

}  // namespace

std::uint64_t countedBytes(const calls::Row& row, std::uint64_t request, std::uint64_t moved) {
  return calls::has(row, Role::kLineIn) || request == 0 ? moved : request;
}

void scaleSizes(model::ScheduleEvent& event, const WorkedAt& at, const ScaleMap& file,
                const ScaleMap& source, std::uint64_t keep_below) {
  if (file.factor() == 1 || event.step != model::Step::kCall) return;
  const calls::Row& row = *event.row;
  // Locks that were not in each other's way stay so, and those that were.
  if (calls::has(row, Role::kLockType) || row.plain == calls::CallId::lockf) return;
  const auto argument = [&event, &row](Role role) -> std::int64_t* {
    const int index = calls::indexOf(row, role);
    return index < 0 ? nullptr : &event.arguments[static_cast<std::size_t>(index)];
  };
  std::optional<std::uint64_t> from = at.offset;
  if (row.call_class == Class::kAsync && calls::has(row, Role::kOffset)) {
    from = static_cast<std::uint64_t>(std::max<std::int64_t>(*argument(Role::kOffset), 0));
  }
  const bool moves = event::asksForBytes(row);
  const std::uint64_t moved = model::bytesMoved(event);
  const bool asks = model::requestOf(event) != 0;  // before the numbers that say so are scaled
  const bool keeps_size = moves && keepsSize(event, moved, at, file, keep_below);
  if (moves && row.result != calls::Result::kChar && !keeps_size) {
    const std::uint64_t request = lengthOf(file, from, event.request);
    const std::uint64_t result = lengthOf(file, from, moved);
    std::int64_t* items = argument(Role::kItemCount);
    if (items != nullptr) {
      // Items of another size would not add up; bytes always do.
      *argument(Role::kItemSize) = 1;
      *items = static_cast<std::int64_t>(request);
    } else if (calls::has(row, Role::kLineIn)) {
      // The room of the buffer has to hold the line and its end.
      std::int64_t& room = *argument(Role::kSize);
      room = std::max(distance(file, room), static_cast<std::int64_t>(result) + 2);
    } else if (std::int64_t* size = argument(Role::kSize)) {
      *size = static_cast<std::int64_t>(request);
    } else if (std::int64_t* text = argument(Role::kTextOut)) {
      *text = static_cast<std::int64_t>(request);
    }
    scalePieces(event.pieces, file, from, request);
    if (!event.failed && asks && event::countsBytes(row) && row.result != calls::Result::kText &&
        row.result != calls::Result::kNumber) {
      event.result = static_cast<std::int64_t>(result);
    }
    event.request = request;
  } else if (row.call_class == Class::kSeek && !event.failed &&
             row.result == calls::Result::kPosition && event.result >= 0) {
    event.result =
        static_cast<std::int64_t>(file.position(static_cast<std::uint64_t>(event.result)));
  }
  std::optional<std::uint64_t> range;  // where a range begins that has a length
  for (const Role role : {Role::kOffset, Role::kRangeOffset, Role::kSourceOffset}) {
    std::int64_t* offset = argument(role);
    const bool may_be_position =
        role == Role::kSourceOffset || calls::does(row, calls::Effect::kMinusOneIsThePosition);
    if (offset == nullptr || (*offset == -1 && may_be_position)) continue;
    // What may be the reason why it failed stays.
    if (event.failed && *offset < 0) continue;
    if (role != Role::kSourceOffset && *offset >= 0) range = static_cast<std::uint64_t>(*offset);
    *offset = row.call_class == Class::kSeek
                  ? soughtOffset(event, *offset, at.sought, file)
                  : distance(role == Role::kSourceOffset ? source : file, *offset);
  }
  if (std::int64_t* size = argument(Role::kLength); size != nullptr && *size > 0) {
    *size =
        range ? static_cast<std::int64_t>(lengthOf(file, range, static_cast<std::uint64_t>(*size)))
              : distance(file, *size);
    if (calls::has(row, Role::kMapping)) *size = std::max<std::int64_t>(*size, kMappedPage);
  }
  if (event.offset != model::kUnknownOffset) {
    event.offset =
        static_cast<std::int64_t>(file.position(static_cast<std::uint64_t>(event.offset)));
  }
}

}  // namespace omnio::preprocess
