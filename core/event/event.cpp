#include "core/event/event.hpp"

#include <algorithm>
#include <ranges>

#include "core/wire/record.hpp"

namespace omnio::event {

std::uint64_t bytesMoved(const Event& event) {
  using calls::Result;
  if (event.failed || !countsBytes(*event.row)) return 0;
  const wire::RecordLayout& layout = wire::kRecordLayouts[event.row->number];
  const auto argument = [&event](int index) -> std::int64_t {
    return index < 0 ? 0
                     : std::max<std::int64_t>(event.arguments[static_cast<std::size_t>(index)], 0);
  };
  const auto result = static_cast<std::uint64_t>(std::max<std::int64_t>(event.result, 0));
  switch (event.row->result) {
    case Result::kItems:
      return result * static_cast<std::uint64_t>(argument(layout.item_size));
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

std::string withoutNumbers(std::string_view path) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string name;
  name.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!is_digit(path[i])) {
      name += path[i];
    } else if (i == 0 || !is_digit(path[i - 1])) {
      name += '#';
    }
  }
  return name;
}

std::string normalisedPath(std::string_view absolute) {
  std::string out;
  out.reserve(absolute.size());
  const bool rooted = absolute.starts_with('/');
  for (const auto bytes : std::views::split(absolute, '/')) {
    const std::string_view part(bytes.begin(), bytes.end());
    if (part.empty() || part == ".") continue;
    if (rooted || !out.empty()) out += '/';
    out += part;
  }
  if (out.empty() && rooted) out = "/";
  return out;
}

FileId PathTable::idOf(std::string_view absolute) {
  // Most paths are in order already and are found without being put together anew.
  if (const auto found = index_.find(absolute); found != index_.end()) return found->second;
  std::string path = normalisedPath(absolute);
  if (const auto found = index_.find(path); found != index_.end()) return found->second;
  const FileId id{static_cast<std::uint32_t>(paths_.size())};
  index_.emplace(paths_.emplace_back(std::move(path)), id);
  return id;
}

std::string_view PathTable::path(FileId id) const {
  return id == kNoFile ? std::string_view() : paths_[static_cast<std::size_t>(id)];
}

bool isOfStorage(const Event& event) {
  for (const Handle* handle : {event.handle, event.new_handle}) {
    if (handle == nullptr) continue;
    const wire::FileKind kind = handle->definition.kind;
    if (kind != wire::FileKind::kRegular && kind != wire::FileKind::kDirectory) return false;
  }
  return true;
}

}  // namespace omnio::event
