#include "core/pattern/access/loop_list.hpp"

#include <algorithm>
#include <utility>

#include "core/base/integers.hpp"

namespace omnio::pattern::access {

using base::wrappedDifference;
using base::wrappedProduct;
using base::wrappedSum;

std::int64_t LoopList::Element::next() const {
  return wrappedSum(start, wrappedProduct(stride, count));
}

std::uint64_t LoopList::Body::hash() const {
  std::uint64_t hash = base::mixed(bytes);
  for (const Element& each : elements) {
    hash = base::mixed(hash, static_cast<std::uint64_t>(each.start), each.count,
                       static_cast<std::uint64_t>(each.stride), each.body);
  }
  return hash;
}

bool LoopList::Body::isSame(const Body& other) const {
  const auto same = [](const Element& a, const Element& b) {
    return a.start == b.start && a.isLike(b);
  };
  return bytes == other.bytes && std::ranges::equal(elements, other.elements, same);
}

LoopList::BodyId LoopList::idOf(Body body) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = body.hash() & mask; !slots_.empty() && slots_[slot] != 0;
       slot = (slot + 1) & mask) {
    if (bodies_[slots_[slot] - 1].isSame(body)) return slots_[slot] - 1;
  }
  const auto id = static_cast<BodyId>(bodies_.size());
  body_element_count_ += body.elements.size();
  bodies_.push_back(std::move(body));
  if (2 * bodies_.size() > slots_.size()) {
    indexAll();
  } else {
    index(id);
  }
  return id;
}

void LoopList::index(BodyId id) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = bodies_[id].hash() & mask;
  while (slots_[slot] != 0) slot = (slot + 1) & mask;
  slots_[slot] = id + 1;
}

void LoopList::indexAll() {
  std::size_t size = 4;
  while (size < 2 * bodies_.size()) size *= 2;
  slots_.assign(size, 0);
  for (BodyId id = 0; id < bodies_.size(); ++id) index(id);
}

// Most requests are as large as the one before.
LoopList::BodyId LoopList::requestId(std::uint64_t bytes) {
  const bool is_same = last_request_ < bodies_.size() && bodies_[last_request_].bytes == bytes &&
                       bodies_[last_request_].elements.empty();
  if (!is_same) last_request_ = idOf({.bytes = bytes, .requests = 1, .elements = {}});
  return last_request_;
}

// Most requests are the next turn of the loop before them.
bool LoopList::continuesLast(std::int64_t offset, std::uint64_t bytes) const {
  if (elements_.empty()) return false;
  const Element& last = elements_.back();
  return last.length == 1 && bytesOf(last) == bytes && offset == last.next() &&
         !bodyOf(last).front().isLoop();
}

void LoopList::add(std::int64_t offset, std::uint64_t bytes) {
  if (continuesLast(offset, bytes)) {
    ++elements_.back().count;
    fold(most_in_body_);
    return;
  }
  elements_.push_back({.start = offset, .body = requestId(bytes)});
  pushed(keyOf(elements_.size() - 1), 0);
  fold(most_in_body_);
}

// In two turns, parts are as far from those before them. More turns of a loop do not change it.
std::uint64_t LoopList::keyOf(std::size_t at) const {
  const Element& element = elements_[at];
  const std::int64_t before = at == 0 ? 0 : elements_[at - 1].start;
  return base::mixed(element.body * base::kGoldenStep ^
                     static_cast<std::uint64_t>(wrappedDifference(element.start, before)));
}

bool LoopList::continuesLoop(std::size_t at) const {
  const Element& loop = elements_[at];
  const Element* const turn = &elements_[at + 1];
  const std::int64_t next = loop.next();
  if (turn->start != next) return false;
  const std::vector<Element>& body = bodies_[loop.body].elements;
  const auto same = [next](const Element& a, const Element& b) {
    return a.isLike(b) && wrappedSum(a.start, next) == b.start;
  };
  return std::equal(body.begin(), body.end(), turn, same);
}

void LoopList::takeTurn(std::size_t at) {
  popped(elements_.size() - 1 - at);
  ++elements_[at].count;
  elements_.resize(at + 1);
}

// Whether the last so many turns of that many elements are the same, at one distance.
bool LoopList::areTurns(std::size_t length, std::size_t turns) const {
  const Element* const last = &elements_.back();
  const std::int64_t stride = wrappedDifference(last->start, (last - length)->start);
  for (std::size_t i = 0; i < length * (turns - 1); ++i) {
    const Element* const element = last - i;
    const Element* const before = element - length;
    if (!element->isLike(*before)) return false;
    if (wrappedDifference(element->start, before->start) != stride) return false;
  }
  return true;
}

bool LoopList::makeLoop(std::size_t length, std::size_t turns) {
  const auto first = elements_.end() - static_cast<std::ptrdiff_t>(length * turns);
  const auto second = first + static_cast<std::ptrdiff_t>(length);
  const std::int64_t start = first->start;
  const std::int64_t stride = wrappedDifference(second->start, start);
  Body body{.bytes = bytesOf(*first), .requests = 0, .elements = {first, second}};
  for (Element& each : body.elements) {
    each.start = wrappedDifference(each.start, start);
    body.requests += requestsOf(each);
  }
  popped(length * turns);
  elements_.erase(first + 1, elements_.end());
  elements_.back() = {.start = start,
                      .count = turns,
                      .stride = stride,
                      .body = idOf(std::move(body)),
                      .length = static_cast<std::uint32_t>(length)};
  pushed(keyOf(elements_.size() - 1), length);
  return true;
}

std::uint64_t LoopList::requestsOf(const Element& element) const {
  return element.count * bodies_[element.body].requests;
}

Part LoopList::partOf(const Element& element) const {
  const Body& body = bodies_[element.body];
  if (!element.isLoop()) return requestAt(element.start, body.bytes);
  std::vector<Part> parts;
  for (const Element& each : body.elements) parts.push_back(partOf(each));
  return loopOf(element.start, element.count, element.stride, std::move(parts));
}

void LoopList::dropOldest(std::size_t count) {
  popped(elements_.size());
  elements_.erase(elements_.begin(), elements_.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<char> used(bodies_.size(), 0);
  for (const Element& each : elements_) used[each.body] = 1;
  for (std::size_t id = bodies_.size(); id-- > 0;) {
    if (used[id] == 0) continue;
    for (const Element& each : bodies_[id].elements) used[each.body] = 1;
  }
  std::vector<BodyId> ids(bodies_.size(), 0);
  BodyId kept = 0;
  body_element_count_ = 0;
  for (std::size_t id = 0; id < bodies_.size(); ++id) {
    if (used[id] == 0) continue;
    for (Element& each : bodies_[id].elements) each.body = ids[each.body];
    body_element_count_ += bodies_[id].elements.size();
    ids[id] = kept;
    if (kept != id) bodies_[kept] = std::move(bodies_[id]);
    ++kept;
  }
  bodies_.resize(kept);
  for (Element& each : elements_) each.body = ids[each.body];
  last_request_ = 0;
  indexAll();
  for (std::size_t at = 0; at < elements_.size(); ++at) pushed(keyOf(at), elements_[at].length);
}

std::size_t LoopList::memoryBytes() const {
  return elements_.capacity() * sizeof(Element) + bodies_.capacity() * sizeof(Body) +
         body_element_count_ * sizeof(Element) + slots_.capacity() * sizeof(BodyId) + indexBytes();
}

}  // namespace omnio::pattern::access
