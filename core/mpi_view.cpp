#include "core/mpi_view.hpp"

#include <algorithm>

namespace omnio {
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

}  // namespace omnio
