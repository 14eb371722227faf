#include "preprocess/size_scale.hpp"

#include <algorithm>
#include <cmath>

#include "core/event/event.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::preprocess {

using calls::Class;
using calls::Role;

std::uint64_t SizeScale::position(std::uint64_t bytes, bool aligned) const {
  const auto scaled = [this](std::uint64_t n) {
    return static_cast<std::uint64_t>(
        std::floor(static_cast<long double>(n) * static_cast<long double>(factor_)));
  };
  if (!aligned) return scaled(bytes);
  constexpr std::uint64_t kBlock = 4096;
  const std::uint64_t block = bytes / kBlock;
  const std::uint64_t begin = scaled(block) * kBlock;
  const std::uint64_t end = scaled(block + 1) * kBlock;
  return begin + (end - begin) * (bytes % kBlock) / kBlock;
}

std::uint64_t SizeScale::length(std::optional<std::uint64_t> from, std::uint64_t bytes,
                                bool aligned) const {
  const std::uint64_t begin = from.value_or(0);
  return position(begin + bytes, aligned) - position(begin, aligned);
}

void SizeScale::apply(model::ScheduleEvent& event, bool aligned) const {
  if (factor_ == 1 || event.step != model::Step::kCall) return;
  const calls::Row& row = *event.row;
  // Locks that were not in each other's way stay so, and those that were.
  if (calls::has(row, Role::kLockType)) return;
  aligned = aligned || calls::has(row, Role::kMapping);  // mappings begin at pages
  const auto argument = [&event, &row](Role role) -> std::int64_t* {
    const int index = calls::indexOf(row, role);
    return index < 0 ? nullptr : &event.arguments[static_cast<std::size_t>(index)];
  };
  const auto signedPosition = [&](std::int64_t n) {
    const auto size = static_cast<std::uint64_t>(std::abs(n));
    const auto scaled = static_cast<std::int64_t>(position(size, aligned));
    return n < 0 ? -scaled : scaled;
  };
  std::optional<std::uint64_t> from;
  if (event.offset != model::kUnknownOffset) from = static_cast<std::uint64_t>(event.offset);
  const bool begins = row.call_class == Class::kAsync && calls::has(row, Role::kOffset);
  if (begins) {
    from = static_cast<std::uint64_t>(std::max<std::int64_t>(*argument(Role::kOffset), 0));
  }
  const bool moves = event::asksForBytes(row);
  const std::uint64_t moved = model::bytesMoved(event);
  const bool asks = model::requestOf(event) != 0;  // before the numbers that say so are scaled
  if (moves && row.result != calls::Result::kChar) {
    // cp asks for all there may be, which is as much at any scale.
    constexpr std::uint64_t kAll = std::uint64_t{1} << 62;
    const std::uint64_t request =
        event.request >= kAll ? event.request : length(from, event.request, aligned);
    const std::uint64_t result = length(from, moved, aligned);
    std::int64_t* items = argument(Role::kItemCount);
    if (items != nullptr) {
      // Items of another size would not add up; bytes always do.
      *argument(Role::kItemSize) = 1;
      *items = static_cast<std::int64_t>(request);
    } else if (calls::has(row, Role::kLineIn)) {
      // The room of the buffer has to hold the line and its end.
      std::int64_t& room = *argument(Role::kSize);
      room = std::max(signedPosition(room), static_cast<std::int64_t>(result) + 2);
    } else if (std::int64_t* size = argument(Role::kSize)) {
      *size = static_cast<std::int64_t>(request);
    } else if (std::int64_t* text = argument(Role::kTextOut)) {
      *text = static_cast<std::int64_t>(request);
    }
    std::uint64_t at = from.value_or(0);
    for (std::uint64_t& piece : event.pieces) {
      const std::uint64_t scaled = length(at, piece, aligned);
      at += piece;
      piece = scaled;
    }
    if (!event.failed && asks && event::countsBytes(row) && row.result != calls::Result::kText &&
        row.result != calls::Result::kNumber) {
      event.result = static_cast<std::int64_t>(result);
    }
    event.request = request;
  } else if (row.call_class == Class::kSeek && !event.failed &&
             row.result == calls::Result::kPosition) {
    event.result = signedPosition(event.result);
  }
  for (const Role role : {Role::kOffset, Role::kSourceOffset, Role::kRangeOffset}) {
    std::int64_t* offset = argument(role);
    const bool may_be_position =
        role == Role::kSourceOffset || calls::does(row, calls::Effect::kMinusOneIsThePosition);
    if (offset == nullptr || (*offset == -1 && may_be_position)) continue;
    *offset = signedPosition(*offset);
  }
  if (std::int64_t* size = argument(Role::kLength)) *size = signedPosition(*size);
  if (from && !begins) event.offset = static_cast<std::int64_t>(position(*from, aligned));
}

}  // namespace omnio::preprocess
