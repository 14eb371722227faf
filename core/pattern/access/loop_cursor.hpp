// A place in turns of a body that go on without an end: it reads what comes there. The body is a
// copy, but loops in it are in the LoopList that it is from: it ends when that drops elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/pattern/access/access_pattern.hpp"
#include "core/pattern/access/loop_list.hpp"

namespace omnio::pattern::access {

class LoopCursor {
 public:
  using Element = LoopList::Element;

  bool isSet() const { return !levels_.empty(); }
  void clear() { levels_.clear(); }
  // To the first request of the turn that begins at `start`; the turns after it are `stride` bytes
  // apart. The body is not empty.
  void begin(const LoopList& list, std::span<const Element> body, std::int64_t start,
             std::int64_t stride);

  Request request(const LoopList& list) const;
  // The kind of pattern that leads to this request from the one before it.
  PatternKind kind() const { return kind_; }
  void advance(const LoopList& list);
  // Advances over all requests of the element, if they come here. A part of a loop may do.
  bool skip(const LoopList& list, const Element& element);

  std::size_t memoryBytes() const {
    return body_.capacity() * sizeof(Element) + levels_.capacity() * sizeof(Level);
  }

 private:
  // An element of a body, and the turn that it is in.
  struct Level {
    LoopList::BodyId body = 0;  // of the loop around it; not used at the first level
    std::uint32_t index = 0;
    std::uint64_t turn = 0;
    std::int64_t base = 0;  // where the turn of the body around it begins
    Element element;
  };

  std::int64_t place(const Level& level) const;
  void enter(const LoopList& list);
  void setKind(std::size_t parts, const Element& turned, std::int64_t stride, const LoopList& list);

  std::vector<Element> body_;
  std::int64_t stride_ = 0;
  std::vector<Level> levels_;  // the outermost first
  PatternKind kind_ = PatternKind::kSingle;
};

}  // namespace omnio::pattern::access
