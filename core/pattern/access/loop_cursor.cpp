#include "core/pattern/access/loop_cursor.hpp"

#include "core/base/integers.hpp"

namespace omnio::pattern::access {

using base::wrappedDifference;
using base::wrappedProduct;
using base::wrappedSum;

void LoopCursor::begin(const LoopList& list, std::span<const Element> body, std::int64_t start,
                       std::int64_t stride) {
  body_.assign(body.begin(), body.end());
  stride_ = stride;
  levels_.clear();
  levels_.push_back(
      {.base = wrappedDifference(start, body_.front().start), .element = body_.front()});
  setKind(body_.size(), body_.back(), stride, list);
  enter(list);
}

// Where this turn of its element begins.
std::int64_t LoopCursor::place(const Level& level) const {
  return wrappedSum(wrappedSum(level.base, level.element.start),
                    wrappedProduct(level.element.stride, level.turn));
}

// Down to a request.
void LoopCursor::enter(const LoopList& list) {
  while (levels_.back().element.isLoop()) {
    const Level& around = levels_.back();
    const Element& first = list.bodyOf(around.element).front();
    levels_.push_back({.body = around.element.body, .base = place(around), .element = first});
  }
}

Request LoopCursor::request(const LoopList& list) const {
  const Level& level = levels_.back();
  return {.offset = place(level), .bytes = list.bytesOf(level.element)};
}

void LoopCursor::setKind(std::size_t parts, const Element& turned, std::int64_t stride,
                         const LoopList& list) {
  if (parts > 1) {
    kind_ = PatternKind::kComposition;
  } else if (turned.isLoop()) {
    kind_ = PatternKind::kNested;
  } else {
    const bool is_contiguous = static_cast<std::uint64_t>(stride) == list.bytesOf(turned);
    kind_ = is_contiguous ? PatternKind::kContiguous : PatternKind::kStrided;
  }
}

// Goes on after this turn of the last level's element.
void LoopCursor::advance(const LoopList& list) {
  while (true) {
    Level& level = levels_.back();
    if (level.turn + 1 < level.element.count) {
      ++level.turn;
      const std::span<const Element> body = list.bodyOf(level.element);
      setKind(body.size(), body.front(), level.element.stride, list);
      break;
    }
    const std::span<const Element> around =
        levels_.size() == 1 ? std::span<const Element>(body_) : list.bodyOf({.body = level.body});
    if (level.index + 1 < around.size()) {
      level.element = around[++level.index];
      level.turn = 0;
      kind_ = PatternKind::kComposition;
      break;
    }
    if (levels_.size() == 1) {
      level.base = wrappedSum(level.base, stride_);
      level.index = 0;
      level.turn = 0;
      level.element = body_.front();
      setKind(body_.size(), body_.back(), stride_, list);
      break;
    }
    levels_.pop_back();
  }
  enter(list);
}

bool LoopCursor::skip(const LoopList& list, const Element& element) {
  for (std::size_t at = levels_.size(); at-- > 0;) {
    Level& level = levels_[at];
    const Element& own = level.element;
    if (own.body == element.body && own.stride == element.stride &&
        element.count <= own.count - level.turn && place(level) == element.start) {
      levels_.resize(at + 1);
      level.turn += element.count - 1;
      advance(list);
      return true;
    }
    // The loop around begins a turn here only with its first part, in the first turn of that.
    if (level.index != 0 || level.turn != 0) return false;
  }
  return false;
}

}  // namespace omnio::pattern::access
