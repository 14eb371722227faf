#include "predict/operations/file_place.hpp"

#include <algorithm>

namespace omnio::predict {

void Holes::add(std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  auto first = std::ranges::lower_bound(holes_, begin, {}, &Hole::end);
  auto last = first;
  for (; last != holes_.end() && last->begin <= end; ++last) {
    begin = std::min(begin, last->begin);
    end = std::max(end, last->end);
  }
  if (first != last) {
    *first = {begin, end};
    holes_.erase(first + 1, last);
    return;
  }
  if (holes_.size() == kMaxHoles) {
    const auto smallest = std::ranges::min_element(
        holes_, {}, [](const Hole& hole) { return hole.end - hole.begin; });
    if (smallest->end - smallest->begin >= end - begin) return;
    holes_.erase(smallest);
    first = std::ranges::lower_bound(holes_, begin, {}, &Hole::end);
  }
  holes_.insert(first, {begin, end});
}

void Holes::remove(std::int64_t begin, std::int64_t end) {
  auto hole = std::ranges::upper_bound(holes_, begin, {}, &Hole::end);
  if (hole == holes_.end() || hole->begin >= end || begin >= end) return;
  if (hole->begin < begin) {
    const std::int64_t hole_end = hole->end;
    hole->end = begin;
    if (hole_end > end) {
      add(end, hole_end);
      return;
    }
    ++hole;
  }
  auto last = hole;
  while (last != holes_.end() && last->end <= end) ++last;
  if (last != holes_.end() && last->begin < end) last->begin = end;
  holes_.erase(hole, last);
}

const Holes::Hole* Holes::first(std::int64_t from, std::int64_t bytes) const {
  auto hole = std::ranges::lower_bound(holes_, from, {}, &Hole::begin);
  while (hole != holes_.end() && hole->end - hole->begin < bytes) ++hole;
  return hole == holes_.end() ? nullptr : &*hole;
}

const Holes::Hole* Holes::tightest(std::int64_t bytes) const {
  const Hole* best = nullptr;
  for (const Hole& hole : holes_) {
    const std::int64_t room = hole.end - hole.begin;
    if (room >= bytes && (best == nullptr || room < best->end - best->begin)) best = &hole;
  }
  return best;
}

void FilePlace::open(event::FileId opened, bool empties) {
  if (opened != file) *this = {.file = opened, .holes = {}, .used = used};
  end = previous_end = 0;
  if (!empties) return;
  highest_end = 0;
  holes.clear();
}

void FilePlace::transfer(event::FileId used_file, std::int64_t at, std::int64_t moved,
                         bool writes) {
  file = used_file;
  offset = at;
  bytes = moved;
  previous_end = end;
  end = continued_end = at + moved;
  if (writes && moved > 0) {
    if (at > highest_end) {
      holes.add(highest_end, at);
    } else if (!holes.isEmpty()) {
      holes.remove(at, end);
    }
  }
  highest_end = std::max(highest_end, end);
}

}  // namespace omnio::predict
