// Which `key=value` items an event of a call has, derived from the call's row; shared by the text
// form and the JSON form, so that both use the same words.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/calls/arguments.hpp"
#include "core/calls/table.hpp"

namespace omnio::calls {

struct Item {
  std::string_view key;
  ItemKind kind = ItemKind::kNumber;
  std::uint8_t argument = 0;  // index in the row's arguments, where it is one
};

// Sorted by key. A row of the table; the reference stays valid.
const std::vector<Item>& layoutOf(const calls::Row& row);

}  // namespace omnio::calls
