#include "predict/operations/repeated_sequence.hpp"

#include <algorithm>
#include <bit>

#include "core/base/integers.hpp"

namespace omnio::predict {

std::size_t RepeatedSequence::indexOf(std::uint32_t length) const {
  std::uint64_t hash = length;
  for (std::uint32_t i = 0; i < length; ++i) {
    hash = (hash ^ of(taken_ - i).key) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash >> 7) & (table_.size() - 1);
}

std::uint32_t RepeatedSequence::commonLength(Position position) const {
  std::uint32_t length = 0;
  while (length < kLengths.front() && has(position - length) &&
         of(position - length).key == of(taken_ - length).key) {
    ++length;
  }
  return length;
}

// Entries of other runs, and of numbers that are gone, are found out by a look at the numbers.
void RepeatedSequence::find() {
  for (const std::uint32_t length : kLengths) {
    if (length > taken_ || length <= length_) continue;
    const Position end = table_[indexOf(length)];
    if (!has(end) || end == taken_) continue;
    const std::uint32_t common = commonLength(end);
    if (common < length) continue;
    match_ = end + 1;
    length_ = common;
    return;
  }
}

// Those runs of last numbers that are known as a whole.
void RepeatedSequence::insert(Position oldest) {
  for (const std::uint32_t length : kLengths) {
    if (oldest + length <= taken_ + 1) table_[indexOf(length)] = taken_;
  }
}

void RepeatedSequence::grow() {
  if (taken_ < entries_.size() || entries_.size() == kMaxNumbers) return;
  const std::size_t size = std::max(kLeastNumbers, 2 * entries_.size());
  std::vector<Entry> entries(size);
  for (Position position = 1; position <= taken_; ++position) {
    if (has(position)) entries[position & (size - 1)] = of(position);
  }
  entries_.swap(entries);
  fillTable();
}

void RepeatedSequence::fillTable() {
  std::vector<Position>(2 * entries_.size()).swap(table_);
  const Position taken = taken_;
  const Position first = oldest();
  const auto count = static_cast<Position>(std::min<std::size_t>(taken, entries_.size()));
  for (Position i = 0; i < count; ++i) {
    taken_ = first + i;
    insert(first);
  }
  taken_ = taken;
}

std::vector<RepeatedSequence::Entry> RepeatedSequence::inOrder() const {
  std::vector<Entry> entries;
  const std::size_t count = std::min<std::size_t>(taken_, entries_.size());
  for (Position i = 0; i < count; ++i) entries.push_back(of(oldest() + i));
  return entries;
}

bool RepeatedSequence::restore(const std::vector<Entry>& entries) {
  if (entries.size() != std::min<std::size_t>(taken_, kMaxNumbers)) return false;
  if (entries.empty()) return true;
  std::vector<Entry>(std::max(kLeastNumbers, std::bit_ceil(entries.size()))).swap(entries_);
  Position position = oldest();
  for (const Entry& entry : entries) entries_[position++ & (entries_.size() - 1)] = entry;
  fillTable();
  return true;
}

void RepeatedSequence::take(std::int64_t number, std::uint64_t key) {
  grow();
  const auto short_key = static_cast<std::uint32_t>(base::mixed(key, 0));
  const bool was_right = has(match_) && of(match_).key == short_key;
  right_ += ((was_right ? 1.0F : 0.0F) - right_) / 1024;
  ++taken_;
  entries_[taken_ & (entries_.size() - 1)] = {number, short_key};
  if (was_right) {
    ++match_;
    ++length_;
  } else {
    match_ = 0;
    length_ = 0;
  }
  if (length_ < kLengths.front()) find();
  insert(1);
}

std::optional<std::int64_t> RepeatedSequence::Ahead::next() {
  if (sequence_ == nullptr) return std::nullopt;
  const std::optional<std::int64_t> number = sequence_->at(position_);
  if (number) ++position_;
  return number;
}

}  // namespace omnio::predict
