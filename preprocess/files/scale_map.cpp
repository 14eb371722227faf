#include "preprocess/files/scale_map.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace omnio::preprocess {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kSector = 512;
// Calls may ask for as much as there is; such a piece is never empty.
constexpr std::uint64_t kUnbounded = std::uint64_t{1} << 62;
// In one file: 400 MB of memory. What comes later may lose its bytes, as calls of a byte do in a
// file of which nothing is known.
constexpr std::size_t kMostKept = std::size_t{1} << 23;
// The same for pieces that keep their sizes. Where there are more, none does.
constexpr std::size_t kMostSame = std::size_t{1} << 22;

std::uint64_t roundedUp(std::uint64_t n, std::uint64_t unit) {
  return n / unit + (n % unit != 0 ? 1 : 0);
}

}  // namespace

// A factor like 0.7 is a little less in binary: 10 times that are 7.
std::uint64_t ScaleMap::times(std::uint64_t units) const {
  constexpr long double kRounding = 1 + 0x1p-52L;
  const long double scaled =
      std::floor(static_cast<long double>(units) * static_cast<long double>(factor_) * kRounding);
  const std::uint64_t most = kUnbounded / unit_;
  return scaled < static_cast<long double>(most) ? static_cast<std::uint64_t>(scaled) : most;
}

void ScaleMap::keep(std::uint64_t offset, std::uint64_t bytes) {
  if (factor_ >= 1 || bytes == 0 || bytes >= kUnbounded || offset >= kUnbounded) return;
  const std::uint64_t begin = offset / unit_;
  const std::uint64_t end = roundedUp(offset + bytes, unit_);
  // Pieces before it that keep their sizes move where it is rounded.
  const std::uint64_t least = keeps_some_ ? times(end - begin) : times(end) - times(begin);
  if (least > 0) return;
  const auto next = kept_.upper_bound(begin);
  const bool is_kept = next != kept_.end() && *next <= end;
  if (!is_kept && kept_.size() < kMostKept) kept_.insert(next, end);
}

void ScaleMap::keepDirect(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t ends = offset | bytes;
  // Otherwise the call did not go by that descriptor.
  if (ends % kSector == 0 && factor_ != 1 && !has_pages_) {
    const bool in_sectors = unit_ == kSector || ends % kPage != 0;
    alignTo(in_sectors ? kSector : kPage);
  }
  keep(offset, bytes);
}

void ScaleMap::keepPages() {
  has_pages_ = true;
  if (factor_ != 1) alignTo(kPage);
}

void ScaleMap::alignTo(std::uint64_t unit) {
  if (unit == unit_) return;
  std::set<std::uint64_t> moved;
  for (const std::uint64_t at : kept_) moved.insert(moved.end(), roundedUp(at * unit_, unit));
  kept_ = std::move(moved);
  unit_ = unit;
}

void ScaleMap::keepSame(std::uint64_t offset, std::uint64_t bytes) {
  if (factor_ == 1 || bytes == 0 || bytes >= kUnbounded || offset >= kUnbounded) return;
  std::uint64_t begin = offset;
  std::uint64_t end = offset + bytes;
  auto next = marked_.upper_bound(begin);
  if (next != marked_.begin() && std::prev(next)->second >= begin) {
    --next;
    if (next->second >= end) return;
    begin = next->first;
  } else if (marked_.size() >= kMostSame) {
    has_too_many_ = true;
    return;
  }
  while (next != marked_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = marked_.erase(next);
  }
  marked_.emplace_hint(next, begin, end);
}

void ScaleMap::settle(bool keeps_same) {
  if (!keeps_same || has_too_many_) {
    keeps_some_ = false;
    marked_.clear();
  }
  for (const auto& [offset, behind] : marked_) {
    const std::uint64_t begin = offset / unit_;
    const std::uint64_t end = roundedUp(behind, unit_);
    if (!same_.empty() && begin <= same_.back().end) {
      same_.back().end = std::max(same_.back().end, end);
      continue;
    }
    const std::uint64_t before =
        same_.empty() ? 0 : same_.back().before + same_.back().end - same_.back().begin;
    same_.push_back({begin, end, before});
  }
  marked_.clear();
  // A piece that ends in one that keeps its size is not empty.
  for (const std::uint64_t end : kept_) {
    if (sameBefore(end) == sameBefore(end - 1)) added_.push_back(end);
  }
  kept_.clear();
}

// Units that keep their sizes, up to that one.
std::uint64_t ScaleMap::sameBefore(std::uint64_t unit) const {
  const auto next = std::ranges::upper_bound(same_, unit, {}, &Same::begin);
  if (next == same_.begin()) return 0;
  const Same& last = *std::prev(next);
  return last.before + std::min(unit, last.end) - last.begin;
}

std::uint64_t ScaleMap::unitsAt(std::uint64_t unit) const {
  const auto before = std::upper_bound(added_.begin(), added_.end(), unit) - added_.begin();
  const std::uint64_t same = sameBefore(unit);
  return times(unit - same) + same + static_cast<std::uint64_t>(before);
}

std::uint64_t ScaleMap::position(std::uint64_t bytes) const {
  if (factor_ == 1) return bytes;
  if (unit_ == 1) return unitsAt(bytes);
  // A unit that is there once, twice or not at all: what lies in it keeps its place in the whole.
  const std::uint64_t begin = unitsAt(bytes / unit_);
  return begin * unit_ + (unitsAt(bytes / unit_ + 1) - begin) * (bytes % unit_);
}

FileScale::FileScale(std::span<const double> factors, bool keeps_some)
    : map_(factors.front(), keeps_some) {
  for (const double factor : factors.subspan(1)) others_.emplace_back(factor, keeps_some);
}

void FileScale::keep(std::uint64_t offset, std::uint64_t bytes) {
  map_.keep(offset, bytes);
  for (ScaleMap& other : others_) other.keep(offset, bytes);
}

void FileScale::keepDirect(std::uint64_t offset, std::uint64_t bytes) {
  map_.keepDirect(offset, bytes);
  for (ScaleMap& other : others_) other.keepDirect(offset, bytes);
}

void FileScale::keepPages() {
  map_.keepPages();
  for (ScaleMap& other : others_) other.keepPages();
}

void FileScale::keepSame(std::uint64_t offset, std::uint64_t bytes) {
  map_.keepSame(offset, bytes);
  for (ScaleMap& other : others_) other.keepSame(offset, bytes);
}

void FileScale::settle(double factor, bool keeps_same) {
  for (ScaleMap& other : others_) {
    if (other.factor() == factor) std::swap(map_, other);
  }
  others_.clear();
  others_.shrink_to_fit();
  map_.settle(keeps_same);
}

}  // namespace omnio::preprocess
