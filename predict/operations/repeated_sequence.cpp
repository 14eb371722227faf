#include "predict/operations/repeated_sequence.hpp"

#include <algorithm>

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

void RepeatedSequence::insert() {
  for (const std::uint32_t length : kLengths) {
    if (length <= taken_) table_[indexOf(length)] = taken_;
  }
}

void RepeatedSequence::grow() {
  if (taken_ < entries_.size() || entries_.size() == kMaxNumbers) return;
  const std::size_t size = std::max(kLeastNumbers, 2 * entries_.size());
  std::vector<Entry> entries(size);
  std::vector<Position> table(2 * size);
  for (Position position = 1; position <= taken_; ++position) {
    if (has(position)) entries[position & (size - 1)] = of(position);
  }
  const Position taken = taken_;
  entries_.swap(entries);
  table_.swap(table);
  for (taken_ = kLengths.front(); taken_ <= taken; ++taken_) insert();
  taken_ = taken;
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
  insert();
}

std::optional<std::int64_t> RepeatedSequence::Ahead::next() {
  if (sequence_ == nullptr) return std::nullopt;
  const std::optional<std::int64_t> number = sequence_->at(position_);
  if (number) ++position_;
  return number;
}

}  // namespace omnio::predict
