#include "core/mpi/strided_pieces.hpp"

namespace omnio::mpi {

void StridedPieces::add(Stride next) {
  if (is_full_ || next.count <= 0 || next.bytes <= 0) return;
  if (may_add_-- == 0) {
    is_full_ = true;
    return;
  }
  if (!strides_.empty()) {
    Stride& last = strides_.back();
    const std::int64_t last_begin = last.first + last.stride * (last.count - 1);
    if (last_begin + last.bytes == next.first) {
      // The last piece and the first one are one.
      const Stride joined{
          .first = last_begin, .bytes = last.bytes + next.bytes, .stride = 0, .count = 1};
      if (last.count == 1) {
        strides_.pop_back();
      } else if (--last.count == 1) {
        last.stride = 0;
      }
      addSeparate(joined);
      if (next.count == 1) return;
      next.first += next.stride;
      if (--next.count == 1) next.stride = 0;
    }
  }
  addSeparate(next);
}

void StridedPieces::addSeparate(Stride next) {
  if (is_full_) return;
  if (!strides_.empty() && strides_.back().bytes == next.bytes) {
    Stride& last = strides_.back();
    const std::int64_t distance = next.first - (last.first + last.stride * (last.count - 1));
    const bool last_agrees = last.count == 1 || last.stride == distance;
    const bool next_agrees = next.count == 1 || next.stride == distance;
    if (last_agrees && next_agrees && distance != 0) {
      last.stride = distance;
      last.count += next.count;
      return;
    }
  }
  if (strides_.size() == most_) {
    is_full_ = true;
    return;
  }
  strides_.push_back(next);
}

std::int64_t StridedPieces::bytes() const {
  std::int64_t sum = 0;
  for (const Stride& stride : strides_) sum += stride.bytes * stride.count;
  return sum;
}

std::int64_t StridedPieces::count() const {
  std::int64_t sum = 0;
  for (const Stride& stride : strides_) sum += stride.count;
  return sum;
}

}  // namespace omnio::mpi
