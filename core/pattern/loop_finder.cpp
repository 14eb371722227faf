#include "core/pattern/loop_finder.hpp"

#include <utility>

namespace omnio::pattern {

void LoopFinder::add(std::int64_t offset, std::uint64_t bytes) {
  if (gave_up_) return;
  list_.add(offset, bytes);
  if (list_.elements().size() > kMostParts || list_.bodyCount() > kMostBodies) {
    gave_up_ = true;
    list_ = access::LoopList(kMostInBody);
  }
}

// Parts of a body that are alike, at one distance, are a loop themselves, as are two halves.
namespace {

void joinAlike(std::vector<Part>& parts) {
  if (parts.size() < 2) return;
  const std::int64_t stride = parts[1].offset - parts[0].offset;
  bool alike = true;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    alike = alike && parts[i].isLike(parts[0]) && parts[i].offset - parts[i - 1].offset == stride;
  }
  const std::size_t half = parts.size() / 2;
  std::size_t turns = parts.size();
  if (!alike) {
    if (parts.size() % 2 != 0) return;
    const std::int64_t distance = parts[half].offset - parts[0].offset;
    for (std::size_t i = 0; i < half; ++i) {
      if (!parts[i].isLike(parts[half + i])) return;
      if (parts[half + i].offset - parts[i].offset != distance) return;
    }
    turns = 2;
  }
  const std::int64_t start = parts[0].offset;
  const std::int64_t distance = parts[parts.size() / turns].offset - start;
  parts.resize(parts.size() / turns);
  for (Part& part : parts) part.offset -= start;
  joinAlike(parts);
  Part loop = loopOf(start, turns, distance, std::move(parts));
  parts.clear();
  parts.push_back(std::move(loop));
}

void joinInside(Part& part) {
  for (Part& each : part.body) joinInside(each);
  joinAlike(part.body);
}

}  // namespace

std::vector<Part> LoopFinder::finish() {
  std::vector<Part> parts;
  for (const access::LoopList::Element& element : list_.elements()) {
    parts.push_back(list_.partOf(element));
    joinInside(parts.back());
  }
  joinAlike(parts);
  list_ = access::LoopList(kMostInBody);
  return parts;
}

}  // namespace omnio::pattern
