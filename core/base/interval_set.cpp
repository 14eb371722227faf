#include "core/base/interval_set.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace omnio::base {

void IntervalSet::add(ByteRange range) {
  if (range.begin >= range.end) return;
  auto next = ranges_.upper_bound(range.begin);
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->second >= range.begin) {
      if (next == ranges_.end() || next->first > range.end) {  // as a rule
        before->second = std::max(before->second, range.end);
        return;
      }
      range.begin = before->first;
      range.end = std::max(range.end, before->second);
      next = ranges_.erase(before);
    }
  }
  while (next != ranges_.end() && next->first <= range.end) {
    range.end = std::max(range.end, next->second);
    next = ranges_.erase(next);
  }
  ranges_.emplace_hint(next, range.begin, range.end);
  if (ranges_.size() > most_) mergeClosest();
}

// Half of them at once, so that the search for small gaps is rare.
void IntervalSet::mergeClosest() {
  std::vector<std::uint64_t> gaps;
  gaps.reserve(ranges_.size());
  for (auto at = ranges_.begin(); std::next(at) != ranges_.end(); ++at) {
    gaps.push_back(std::next(at)->first - at->second);
  }
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  const std::uint64_t small = *middle;
  for (auto at = ranges_.begin(); std::next(at) != ranges_.end();) {
    const auto next = std::next(at);
    if (next->first - at->second <= small) {
      at->second = next->second;
      ranges_.erase(next);
    } else {
      at = next;
    }
  }
}

void IntervalSet::cut(std::uint64_t size) {
  ranges_.erase(ranges_.lower_bound(size), ranges_.end());
  if (!ranges_.empty() && ranges_.rbegin()->second > size) ranges_.rbegin()->second = size;
}

std::uint64_t IntervalSet::lastUncovered(ByteRange range) const {
  if (range.begin >= range.end) return 0;
  // From the back: the range that holds the last byte, and what stands before it.
  auto next = ranges_.lower_bound(range.end);
  if (next == ranges_.begin()) return range.end;
  const auto last = std::prev(next);
  if (last->second < range.end) return range.end;
  return last->first <= range.begin ? 0 : last->first;
}

}  // namespace omnio::base
