#include "core/event/event.hpp"

#include <algorithm>

#include "core/wire/record.hpp"

namespace omnio::event {

std::uint64_t bytesMoved(const Event& event) {
  using calls::Result;
  if (event.failed || !countsBytes(*event.row)) return 0;
  const wire::Plan& plan = wire::kPlans[event.row->number];
  const auto argument = [&event](int index) -> std::int64_t {
    return index < 0 ? 0
                     : std::max<std::int64_t>(event.arguments[static_cast<std::size_t>(index)], 0);
  };
  const auto result = static_cast<std::uint64_t>(std::max<std::int64_t>(event.result, 0));
  switch (event.row->result) {
    case Result::kItems:
      return result * static_cast<std::uint64_t>(argument(plan.item_size));
    case Result::kText:
      return static_cast<std::uint64_t>(
          argument(calls::indexOf(*event.row, calls::Role::kTextOut)));
    case Result::kChar:
      return 1;
    case Result::kMpi: {
      // A write that succeeded has written all; a read says what it got.
      const int got = calls::indexOf(*event.row, calls::Role::kGot);
      return got < 0 ? event.request : static_cast<std::uint64_t>(argument(got));
    }
    default:
      return result;
  }
}

}  // namespace omnio::event
