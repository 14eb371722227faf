#include "phase_model/pattern.hpp"

#include <algorithm>

#include "core/base/saturating_sum.hpp"

namespace omnio::phases {
namespace {

// An end before a start can only be damage.
std::int64_t duration(const Access& access) {
  std::int64_t ns = 0;
  if (__builtin_sub_overflow(access.end_ns, access.start_ns, &ns)) return 0;
  return std::max<std::int64_t>(ns, 0);
}

std::int64_t endOf(const Access& access) {
  return access.offset + static_cast<std::int64_t>(access.bytes);
}

}  // namespace

Pattern::Pattern(const Access& first)
    : operation(first.operation),
      manner(first.manner),
      shape(first.offset_known ? Shape::kConstant : Shape::kRandom),
      offset_known(first.offset_known),
      offset(first.offset),
      size(first.bytes),
      displacement(static_cast<std::int64_t>(first.bytes)),
      last(first.offset),
      end(endOf(first)),
      furthest(end),
      bytes(first.bytes),
      smallest(first.bytes),
      largest(first.bytes),
      first_tick(first.tick),
      last_tick(first.tick),
      begin_ns(first.start_ns),
      end_ns(std::max(first.end_ns, first.start_ns)),
      io_ns(duration(first)) {
  if (offset_known) list({offset, size});
}

void Pattern::list(Request request) {
  const std::size_t most = shape == Shape::kRandom ? kMaxListed : kLongRun;
  if (list_ended_ || listed.size() >= most) {
    list_ended_ = true;
  } else {
    listed.push_back(request);
  }
}

void Pattern::listAll(const Pattern& pattern) {
  if (!offset_known) return;
  if (pattern.shape == Shape::kConstant) {
    for (std::uint64_t i = 0; i < pattern.requests && !list_ended_; ++i) {
      list({pattern.offset + static_cast<std::int64_t>(i) * pattern.displacement, pattern.size});
    }
    return;
  }
  for (const Request& request : pattern.listed) list(request);
  list_ended_ = list_ended_ || pattern.list_ended_;
}

void Pattern::become(Shape wanted) {
  if (shape == Shape::kConstant && wanted == Shape::kRandom) {
    const Pattern before = *this;
    listed.clear();
    list_ended_ = false;
    shape = wanted;
    listAll(before);
  }
  shape = wanted;
}

void Pattern::append(const Pattern& later) {
  listAll(later);
  last = later.last;
  end = later.end;
  furthest = std::max(furthest, later.furthest);
  requests += later.requests;
  bytes += later.bytes;
  smallest = std::min(smallest, later.smallest);
  largest = std::max(largest, later.largest);
  first_tick = std::min(first_tick, later.first_tick);
  last_tick = std::max(last_tick, later.last_tick);
  begin_ns = std::min(begin_ns, later.begin_ns);
  end_ns = std::max(end_ns, later.end_ns);
  io_ns = base::saturatingSum(io_ns, later.io_ns);
}

bool Pattern::continuesStride(const Access& access) const {
  return shape == Shape::kConstant && access.offset_known && access.bytes == size &&
         (requests == 1 || access.offset - last == displacement);
}

bool Pattern::continuesContiguously(const Access& access) const {
  return offset_known && access.offset_known && access.offset == end;
}

void Pattern::add(const Access& access) {
  if (requests == 1 && shape == Shape::kConstant) displacement = access.offset - last;
  last = access.offset;
  end = endOf(access);
  furthest = std::max(furthest, end);
  ++requests;
  bytes += access.bytes;
  smallest = std::min(smallest, access.bytes);
  largest = std::max(largest, access.bytes);
  first_tick = std::min(first_tick, access.tick);
  last_tick = std::max(last_tick, access.tick);
  end_ns = std::max(end_ns, access.end_ns);
  io_ns = base::saturatingSum(io_ns, duration(access));
  if (offset_known) list({access.offset, access.bytes});
}

model::AccessMode Pattern::mode() const {
  if (shape == Shape::kRandom) return model::AccessMode::kRandom;
  return isContiguous() ? model::AccessMode::kSequential : model::AccessMode::kStrided;
}

bool Pattern::isContiguous() const {
  return shape == Shape::kVarying ||
         (shape == Shape::kConstant && displacement == static_cast<std::int64_t>(size));
}

}  // namespace omnio::phases
