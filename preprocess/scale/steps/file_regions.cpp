#include "preprocess/scale/steps/file_regions.hpp"

#include <algorithm>

namespace omnio::preprocess::scale {

bool FileRegions::Moved::pushes(std::int64_t place) const {
  return growth() > 0 ? region.scaled_end + shift > place : region.end == place;
}

void FileRegions::settle() {
  std::ranges::sort(regions_, {}, &FileRegion::begin);
  moved_.clear();
  for (const FileRegion& next : regions_) {
    if (!moved_.empty() && next.begin < moved_.back().region.end) {
      FileRegion& region = moved_.back().region;
      // Work in the same place in all steps has no last one.
      if (region.scaled_end == region.end) {
        region.last = next.last;
      } else if (next.scaled_end != next.end) {
        region.last = std::min(region.last, next.last);
      }
      region.end = std::max(region.end, next.end);
      region.scaled_end = std::max(region.scaled_end, next.scaled_end);
      continue;
    }
    moved_.push_back({.region = next});
  }
  for (std::size_t i = 1; i < moved_.size(); ++i) {
    const Moved& before = moved_[i - 1];
    if (before.pushes(moved_[i].region.begin)) moved_[i].shift = before.shift + before.growth();
  }
}

std::int64_t FileRegions::shiftAt(std::int64_t place) const {
  for (const Moved& moved : moved_) {
    if (place >= moved.region.begin && place < moved.region.end) return moved.shift;
  }
  return 0;
}

std::int64_t FileRegions::shiftBehind(std::int64_t place) const {
  for (auto moved = moved_.rbegin(); moved != moved_.rend(); ++moved) {
    if (place < moved->region.begin) continue;
    if (place < moved->region.last) return moved->shift;
    const bool is_inside = place < moved->region.end;
    return is_inside || moved->pushes(place) ? moved->shift + moved->growth() : 0;
  }
  return 0;
}

}  // namespace omnio::preprocess::scale
