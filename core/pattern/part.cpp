#include "core/pattern/part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace omnio::pattern {

bool Part::isLike(const Part& other) const {
  return bytes == other.bytes && count == other.count && stride == other.stride &&
         body == other.body;
}

Part requestAt(std::int64_t offset, std::uint64_t bytes) {
  Part part;
  part.offset = offset;
  part.bytes = bytes;
  return part;
}

Part loopOf(std::int64_t offset, std::uint64_t count, std::int64_t stride, std::vector<Part> body) {
  Part part;
  part.offset = offset;
  part.count = count;
  part.stride = stride;
  std::uint64_t in_turn = 0;
  for (const Part& each : body) in_turn += each.requests;
  part.requests = count * in_turn;
  part.body = std::move(body);
  return part;
}

Request requestOf(const Part& part, std::uint64_t n) {
  std::int64_t offset = part.offset;
  const Part* in = &part;
  while (in->isLoop()) {
    const std::uint64_t in_turn = in->requests / in->count;
    offset += static_cast<std::int64_t>(n / in_turn) * in->stride;
    n %= in_turn;
    const Part* next = in->body.data();
    while (n >= next->requests) n -= next++->requests;
    offset += next->offset;
    in = next;
  }
  return {.offset = offset, .bytes = in->bytes};
}

PartSummary summaryOf(const Part& part) {
  if (!part.isLoop()) {
    return {.bytes = part.bytes,
            .smallest = part.bytes,
            .largest = part.bytes,
            .begin = part.offset,
            .end = part.offset + static_cast<std::int64_t>(part.bytes),
            .depth = 0};
  }
  PartSummary all = summaryOf(part.body.front());
  for (auto each = part.body.begin() + 1; each != part.body.end(); ++each) {
    const PartSummary one = summaryOf(*each);
    all.bytes += one.bytes;
    all.smallest = std::min(all.smallest, one.smallest);
    all.largest = std::max(all.largest, one.largest);
    all.begin = std::min(all.begin, one.begin);
    all.end = std::max(all.end, one.end);
    all.depth = std::max(all.depth, one.depth);
  }
  const std::int64_t last = static_cast<std::int64_t>(part.count - 1) * part.stride;
  all.bytes *= part.count;
  all.begin += part.offset + std::min<std::int64_t>(last, 0);
  all.end += part.offset + std::max<std::int64_t>(last, 0);
  ++all.depth;
  return all;
}

bool isStride(const Part& part) { return part.body.size() == 1 && !part.body.front().isLoop(); }

std::vector<Dimension> dimensionsOf(const Part& part) {
  std::vector<Dimension> dimensions;
  for (const Part* in = &part; in->isLoop(); in = in->body.data()) {
    if (in->body.size() != 1) return {};
    dimensions.push_back({.count = in->count, .stride = in->stride});
  }
  std::reverse(dimensions.begin(), dimensions.end());
  return dimensions;
}

std::string textOf(const Part& part) {
  if (!part.isLoop()) return fmt::format("{} B", part.bytes);
  const bool at_one_place = part.count == 1;
  std::string text = at_one_place ? "" : fmt::format("{} x {} B", part.count, part.stride);
  if (isStride(part)) return text;
  if (part.body.size() == 1) return fmt::format("{} ({})", text, textOf(part.body.front()));
  constexpr std::size_t kShown = 4;
  std::vector<std::string> places;
  for (const Part& each : part.body) {
    if (places.size() == kShown) break;
    places.push_back(each.isLoop() ? fmt::format("{} B: {}", each.offset, textOf(each))
                                   : fmt::format("{} B", each.offset));
  }
  if (places.size() < part.body.size()) {
    places.push_back(fmt::format("... ({} parts)", part.body.size()));
  }
  return fmt::format("{}{}[{}]", text, at_one_place ? "" : " ", fmt::join(places, ", "));
}

}  // namespace omnio::pattern
