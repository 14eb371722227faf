#include "core/calls/words/layout.hpp"

#include <algorithm>
#include <array>

namespace omnio::calls {
namespace {

Item itemOf(const Row& row, std::uint8_t index) {
  const Role role = row.arguments[index];
  Item item{formOf(role).key, formOf(role).item, index};
  if (role == Role::kFlags && opensByFlags(row)) item.kind = ItemKind::kOpenFlags;
  if (role == Role::kSize && sizeIsRoom(row)) item.key = kRoomKey;
  return item;
}

std::vector<Item> makeLayout(const calls::Row& row) {
  std::vector<Item> items;
  bool names_path = false;
  bool has_handle = false;
  for (std::uint8_t i = 0; i < row.argument_count; ++i) {
    const Item item = itemOf(row, i);
    if (item.kind == ItemKind::kNone) continue;
    names_path = names_path || item.key == "path";
    has_handle = has_handle || item.kind == ItemKind::kFd || item.kind == ItemKind::kFileHandle;
    items.push_back(item);
  }
  const bool makes_handle =
      row.result == calls::Result::kNewFd || row.result == calls::Result::kNewStream;
  if (!names_path && (has_handle || makes_handle)) items.push_back({"path", ItemKind::kHandlePath});
  items.push_back({"depth", ItemKind::kDepth});
  items.push_back({"errno", ItemKind::kErrno});
  if (row.result != calls::Result::kNone) items.push_back({"result", ItemKind::kResult});
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.key < b.key; });
  return items;
}

}  // namespace

const std::vector<Item>& layoutOf(const calls::Row& row) {
  static const auto kLayouts = [] {
    std::array<std::vector<Item>, calls::kNumberLimit> layouts;
    for (const calls::Row& r : calls::kTable) {
      if (r.number != 0) layouts[r.number] = makeLayout(r);
    }
    return layouts;
  }();
  return kLayouts[row.number];
}

}  // namespace omnio::calls
