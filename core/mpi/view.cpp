#include "core/mpi/view.hpp"

#include <algorithm>

namespace omnio::mpi {
namespace {

const MpiType& plainBytes() {
  static const MpiType kBytes = *parseMpiType("b1");
  return kBytes;
}

}  // namespace

MpiView::MpiView() : MpiView(0, plainBytes(), plainBytes()) {}

MpiView::MpiView(std::int64_t displacement, const MpiType& etype, const MpiType& filetype)
    : layout_(filetype.layout),
      tiles_(filetype.tiles),
      displacement_(displacement),
      etype_bytes_(std::max<std::int64_t>(etype.size, 1)) {}

std::optional<std::int64_t> MpiView::inFile(std::int64_t view_byte) const {
  const std::optional<std::int64_t> place = layout_->placeOf(tiles_, view_byte);
  std::int64_t offset = 0;
  if (!place || __builtin_add_overflow(*place, displacement_, &offset)) return {};
  return offset;
}

bool MpiView::pieces(std::int64_t etypes, std::int64_t bytes, StridedPieces& out) const {
  std::int64_t from = 0;
  std::int64_t to = 0;
  if (etypes < 0 || __builtin_mul_overflow(etypes, etype_bytes_, &from) ||
      __builtin_add_overflow(from, bytes, &to) || to > layout_->size(tiles_) ||
      displacement_ > DataLayout::kMost || displacement_ < -DataLayout::kMost) {
    return false;
  }
  layout_->pieces(tiles_, from, to, displacement_, out);
  return true;
}

// Found by halves, since places in the file never go back (MPI-3.1, 13.3). In a damaged view where
// they do, what is found begins and ends there all the same.
std::optional<std::int64_t> MpiView::requestAt(std::int64_t first, std::int64_t end,
                                               std::int64_t bytes) const {
  std::int64_t at = 0;
  for (std::int64_t behind = layout_->size(tiles_); at < behind;) {
    const std::int64_t middle = at + (behind - at) / 2;
    const std::optional<std::int64_t> place = inFile(middle);
    if (place && *place < first) {
      at = middle + 1;
    } else {
      behind = middle;
    }
  }
  std::int64_t last = 0;
  if (at % etype_bytes_ != 0 || inFile(at) != first || inFile(at + 1) == first ||
      __builtin_add_overflow(at, bytes - 1, &last) || inFile(last) != end - 1) {
    return {};
  }
  return at / etype_bytes_;
}

}  // namespace omnio::mpi
