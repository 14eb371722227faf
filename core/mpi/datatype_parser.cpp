#include "core/mpi/datatype_parser.hpp"

#include <algorithm>

namespace omnio::mpi {
namespace {

constexpr int kMostNesting = 256;

}  // namespace

std::optional<MpiTypeParser::Whole> MpiTypeParser::all() {
  Whole whole{type(0)};
  if (!failed() && !text_.atEnd()) text_.fail("the type has ended");
  if (!failed()) whole.tiles = tilesOf(whole);
  if (!layout_.fits()) text_.fail("it is larger than any file");
  if (failed()) return {};
  return whole;
}

DataLayout::Id MpiTypeParser::tilesOf(const Part& part) {
  constexpr std::int64_t kFar = DataLayout::kMost / 2;
  if (part.extent > kFar || part.extent < -kFar) {  // no second one fits
    text_.fail("it is larger than any file");
    return 0;
  }
  const std::int64_t longest = std::max({part.size, part.extent, -part.extent, std::int64_t{1}});
  return layout_.repeat(part.data, std::max<std::int64_t>(kFar / longest, 1), part.extent);
}

MpiTypeParser::Part MpiTypeParser::type(int nesting) {
  if (nesting > kMostNesting) text_.fail("it is nested too deeply");
  if (failed()) return {};
  Part part;
  const std::string_view name = text_.word();
  if (name == "b" && !text_.isNext('(')) {
    part.size = part.extent = text_.count();
    if (!failed()) part.data = layout_.bytes(part.size);
  } else {
    text_.take('(');
    part = made(name, nesting);
    text_.take(')');
  }
  if (failed()) return {};
  if (text_.takeIf('[')) {
    part.lower_bound = text_.number();
    text_.take(',');
    part.extent = text_.number();
    text_.take(']');
  }
  return part;
}

MpiTypeParser::Part MpiTypeParser::made(std::string_view name, int nesting) {
  if (name == "dup") return type(nesting + 1);
  if (name == "contiguous") {
    const std::int64_t count = argument();
    const Part inner = type(nesting + 1);
    return repeated(inner, count, inner.extent);
  }
  if (name == "vector" || name == "hvector") return vector(name[0] == 'h', nesting);
  if (name == "indexed" || name == "hindexed") return indexed(name[0] == 'h', nesting);
  if (name == "indexed_block" || name == "hindexed_block") {
    return indexedBlock(name[0] == 'h', nesting);
  }
  if (name == "struct") return structure(nesting);
  if (name == "subarray") return subarray(nesting);
  if (name == "darray") return darray(nesting);
  if (name == "resized") return resized(nesting);
  text_.fail("no way to make a type has this name");
  return {};
}

std::int64_t MpiTypeParser::argument() {
  const std::int64_t value = text_.number();
  text_.take(';');
  return value;
}
NumberList MpiTypeParser::list() {
  NumberList numbers = text_.list();
  text_.take(';');
  return numbers;
}

std::int64_t MpiTypeParser::times(std::int64_t a, std::int64_t b) {
  std::int64_t value = 0;
  if (__builtin_mul_overflow(a, b, &value)) text_.fail("it is larger than any file");
  return value;
}

MpiTypeParser::Part MpiTypeParser::of(DataLayout::Id data) const {
  const std::int64_t size = layout_.size(data);
  return {.data = data, .size = size, .lower_bound = 0, .extent = size};
}

MpiTypeParser::Part MpiTypeParser::repeated(const Part& inner, std::int64_t count,
                                            std::int64_t step) {
  if (failed()) return {};
  DataLayout::Parts parts = layout_.parts();
  parts.add(0, step, count, inner.data);
  return of(parts);
}

MpiTypeParser::Part MpiTypeParser::vector(bool in_bytes, int nesting) {
  const std::int64_t count = argument();
  const std::int64_t length = argument();
  std::int64_t stride = argument();
  const Part inner = type(nesting + 1);
  if (!in_bytes) stride = times(stride, inner.extent);
  return repeated(repeated(inner, length, inner.extent), count, stride);
}

void MpiTypeParser::addBlocks(DataLayout::Parts& parts, const Part& inner, std::int64_t length,
                              std::int64_t displacement, std::int64_t step, std::int64_t count) {
  if (length <= 0 || count <= 0 || inner.size == 0) {
    // A few words may tell of more of them than anybody waits for.
    if (++empty_blocks_ > DataLayout::kMostRuns) text_.fail("it has too many empty blocks");
    return;
  }
  if (layout_.isPlain(inner.data) && inner.extent == inner.size) {
    parts.addBytes(displacement, step, count, times(length, inner.size));
  } else {
    parts.add(displacement, step, count, layout_.repeat(inner.data, length, inner.extent));
  }
}

MpiTypeParser::Part MpiTypeParser::indexed(bool in_bytes, int nesting) {
  const NumberList lengths = list();
  const NumberList displacements = list();
  const Part inner = type(nesting + 1);
  if (lengths.size() != displacements.size()) text_.fail("the lists differ in length");
  if (failed()) return {};
  const std::int64_t unit = in_bytes ? 1 : inner.extent;
  DataLayout::Parts parts = layout_.parts();
  NumberList::Cursor length(lengths);
  NumberList::Cursor displacement(displacements);
  while (!length.atEnd() && !failed()) {
    const std::int64_t count =
        length.step() == 0 ? std::min(length.left(), displacement.left()) : 1;
    addBlocks(parts, inner, length.value(), times(displacement.value(), unit),
              times(displacement.step(), unit), count);
    length.skip(count);
    displacement.skip(count);
  }
  return of(parts);
}

MpiTypeParser::Part MpiTypeParser::indexedBlock(bool in_bytes, int nesting) {
  const std::int64_t length = argument();
  const NumberList displacements = list();
  const Part inner = type(nesting + 1);
  if (failed()) return {};
  const std::int64_t unit = in_bytes ? 1 : inner.extent;
  DataLayout::Parts parts = layout_.parts();
  for (NumberList::Cursor at(displacements); !at.atEnd() && !failed(); at.skip(at.left())) {
    addBlocks(parts, inner, length, times(at.value(), unit), times(at.step(), unit), at.left());
  }
  return of(parts);
}

MpiTypeParser::Part MpiTypeParser::structure(int nesting) {
  const NumberList lengths = list();
  const NumberList displacements = list();
  if (lengths.size() != displacements.size()) text_.fail("the lists differ in length");
  DataLayout::Parts parts = layout_.parts();
  NumberList::Cursor length(lengths);
  NumberList::Cursor displacement(displacements);
  while (!length.atEnd() && !failed()) {
    const Part inner = type(nesting + 1);
    std::int64_t same = text_.takeIf('x') ? text_.count() : 1;
    while (same > 0 && !failed()) {
      if (length.atEnd()) {
        text_.fail("there are more types than blocks");
        break;
      }
      const std::int64_t count =
          length.step() == 0 ? std::min({length.left(), displacement.left(), same}) : 1;
      addBlocks(parts, inner, length.value(), displacement.value(), displacement.step(), count);
      length.skip(count);
      displacement.skip(count);
      same -= count;
    }
    if (!length.atEnd()) text_.take(',');
  }
  if (failed()) return {};
  return of(parts);
}

MpiTypeParser::Part MpiTypeParser::resized(int nesting) {
  const std::int64_t lower_bound = argument();
  const std::int64_t extent = argument();
  Part part = type(nesting + 1);
  part.lower_bound = lower_bound;
  part.extent = extent;
  return part;
}

}  // namespace omnio::mpi
