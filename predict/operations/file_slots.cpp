#include "predict/operations/file_slots.hpp"

#include "core/event/event.hpp"

namespace omnio::predict {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

// The end of the number, or of the "#" in place of one, that begins there.
std::size_t numberEnd(std::string_view text, std::size_t begin) {
  if (begin < text.size() && text[begin] == '#') return begin + 1;
  while (begin < text.size() && isDigit(text[begin])) ++begin;
  return begin;
}

std::string nameIn(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The second differs from the first in numbers alone.
std::string inCommon(std::string_view one, std::string_view other) {
  std::string name;
  std::size_t i = 0;
  std::size_t k = 0;
  while (i < one.size() && k < other.size()) {
    if (!isDigit(other[k])) {
      name += other[k];
      ++i;
      ++k;
      continue;
    }
    const std::size_t one_end = numberEnd(one, i);
    const std::size_t other_end = numberEnd(other, k);
    const std::string_view number = other.substr(k, other_end - k);
    name += one.substr(i, one_end - i) == number ? number : "#";
    i = one_end;
    k = other_end;
  }
  return name;
}

}  // namespace

FileSlots::Kept FileSlots::kept() const {
  Kept kept;
  for (const Family& family : families_) kept.families.push_back(family.path);
  for (const OfSlot& slot : slots_) kept.slots.push_back(slot.family);
  return kept;
}

void FileSlots::goOnWith(const Kept& earlier) {
  for (const std::string& path : earlier.families) {
    const auto number = static_cast<std::uint32_t>(families_.size());
    families_.push_back({.path = path, .name = path, .free = {}});
    earlier_by_path_.emplace(path, number);
    earlier_by_name_.emplace(nameIn(path), number);
  }
  for (const std::uint32_t family : earlier.slots) {
    families_[family].free.insert(static_cast<Slot>(slots_.size()));
    slots_.push_back({.family = family, .file = event::kNoFile});
  }
}

std::uint32_t FileSlots::newFamily(const std::string& path) {
  const auto [first, last] = earlier_by_name_.equal_range(nameIn(path));
  const auto same = earlier_by_path_.find(path);
  auto found = first;
  if (same != earlier_by_path_.end()) {
    while (found->second != same->second) ++found;
  } else if (first == last) {
    families_.push_back({.path = path, .name = {}, .free = {}});
    return static_cast<std::uint32_t>(families_.size() - 1);
  }
  const std::uint32_t number = found->second;
  earlier_by_path_.erase(families_[number].path);
  earlier_by_name_.erase(found);
  families_[number].path = path;
  return number;
}

FileSlots::File& FileSlots::fileOf(event::FileId file) {
  const auto number = static_cast<std::size_t>(file);
  if (number >= files_.size()) files_.resize(number + 1);
  File& state = files_[number];
  if (state.family == kNone) {
    const std::string_view path = paths_.path(file);
    const auto [found, is_new] = by_name_.try_emplace(event::withoutNumbers(path), 0);
    if (is_new) found->second = newFamily(found->first);
    state.family = found->second;
    std::string& name = families_[state.family].name;
    name = is_new ? std::string(path) : inCommon(name, path);
  }
  return state;
}

Slot FileSlots::take(event::FileId file, File& state) {
  Family& family = families_[state.family];
  if (state.slot != kNone && slots_[state.slot].file == file) {
    family.free.erase(state.slot);
    return state.slot;
  }
  if (family.free.empty()) {
    state.slot = static_cast<Slot>(slots_.size());
    slots_.push_back({.family = state.family, .file = file});
    return state.slot;
  }
  state.slot = *family.free.begin();
  family.free.erase(family.free.begin());
  slots_[state.slot].file = file;
  return state.slot;
}

Slot FileSlots::opened(event::FileId file) {
  File& state = fileOf(file);
  ++state.opens;
  return take(file, state);
}

Slot FileSlots::used(event::FileId file) {
  File& state = fileOf(file);
  if (state.slot != kNone && slots_[state.slot].file == file) return state.slot;
  if (state.slot == kNone) state.opens = 1;  // it was open before
  const Slot slot = take(file, state);
  if (state.opens == 0) families_[state.family].free.insert(slot);
  return slot;
}

void FileSlots::closed(event::FileId file) {
  File& state = fileOf(file);
  if (state.opens > 0) --state.opens;
  const bool has_slot = state.slot != kNone && slots_[state.slot].file == file;
  if (state.opens == 0 && has_slot) families_[state.family].free.insert(state.slot);
}

}  // namespace omnio::predict
