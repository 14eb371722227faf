#include "core/pattern/loop_finder.hpp"

#include <algorithm>
#include <utility>

namespace omnio::pattern {

std::size_t LoopFinder::numberOf(Body body) {
  Key key = {static_cast<std::int64_t>(body.bytes)};
  for (const Element& each : body.elements) {
    key.insert(key.end(), {each.start, static_cast<std::int64_t>(each.count), each.stride,
                           static_cast<std::int64_t>(each.body)});
  }
  const auto [place, is_new] = numbers_.try_emplace(std::move(key), bodies_.size());
  if (is_new) bodies_.push_back(std::move(body));
  return place->second;
}

// Most requests are as large as the one before.
std::size_t LoopFinder::requestNumber(std::uint64_t bytes) {
  const bool is_same = last_request_ < bodies_.size() && bodies_[last_request_].bytes == bytes;
  if (!is_same) last_request_ = numberOf({.bytes = bytes, .elements = {}});
  return last_request_;
}

void LoopFinder::add(std::int64_t offset, std::uint64_t bytes) {
  if (gave_up_) return;
  elements_.push_back({.start = offset, .body = requestNumber(bytes)});
  fold();
  if (elements_.size() > kMostParts || bodies_.size() > kMostBodies) {
    gave_up_ = true;
    elements_ = {};
    bodies_ = {};
    numbers_ = {};
  }
}

void LoopFinder::fold() {
  constexpr std::size_t kTurns = 3;
  while (extend() || begin(kTurns)) {
  }
}

// Whether the last elements are the next turn of the loop before them.
bool LoopFinder::extend() {
  const std::size_t size = elements_.size();
  for (std::size_t length = 1; length <= kMostInBody && length < size; ++length) {
    Element& loop = elements_[size - 1 - length];
    const Element* const turn = &elements_[size - length];
    const std::vector<Element>& body = bodies_[loop.body].elements;
    const std::int64_t next = loop.start + static_cast<std::int64_t>(loop.count) * loop.stride;
    if (body.size() != length || turn->start != next) continue;
    const auto same = [next](const Element& a, const Element& b) {
      return a.isLike(b) && a.start + next == b.start;
    };
    if (!std::equal(body.begin(), body.end(), turn, same)) continue;
    ++loop.count;
    elements_.resize(size - length);
    return true;
  }
  return false;
}

// Whether the last so many turns of that many elements are the same, at one distance.
bool LoopFinder::sameTurns(std::size_t length, std::size_t turns) const {
  const Element* const last = &elements_.back();
  const std::int64_t stride = last->start - (last - length)->start;
  for (std::size_t i = 0; i < length * (turns - 1); ++i) {
    const Element* const element = last - i;
    const Element* const before = element - length;
    if (!element->isLike(*before) || element->start - before->start != stride) return false;
  }
  return true;
}

void LoopFinder::replace(std::size_t length, std::size_t turns) {
  const auto first = elements_.end() - static_cast<std::ptrdiff_t>(length * turns);
  const std::int64_t start = first->start;
  const std::int64_t stride = (first + static_cast<std::ptrdiff_t>(length))->start - start;
  Body body{.bytes = 0, .elements = {first, first + static_cast<std::ptrdiff_t>(length)}};
  for (Element& each : body.elements) each.start -= start;
  elements_.erase(first + 1, elements_.end());
  elements_.back() = {
      .start = start, .count = turns, .stride = stride, .body = numberOf(std::move(body))};
}

bool LoopFinder::begin(std::size_t turns) {
  for (std::size_t length = 1; length <= kMostInBody && length * turns <= elements_.size();
       ++length) {
    if (!elements_.back().isLike(elements_[elements_.size() - 1 - length])) continue;
    if (!sameTurns(length, turns)) continue;
    replace(length, turns);
    return true;
  }
  return false;
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

}  // namespace

Part LoopFinder::partOf(const Element& element) const {
  const Body& body = bodies_[element.body];
  if (body.elements.empty()) return requestAt(element.start, body.bytes);
  std::vector<Part> parts;
  for (const Element& each : body.elements) parts.push_back(partOf(each));
  joinAlike(parts);
  return loopOf(element.start, element.count, element.stride, std::move(parts));
}

std::vector<Part> LoopFinder::finish() {
  std::vector<Part> parts;
  for (const Element& element : elements_) parts.push_back(partOf(element));
  joinAlike(parts);
  elements_.clear();
  return parts;
}

}  // namespace omnio::pattern
