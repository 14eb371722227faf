#include "core/mpi/datatype.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/mpi/type_text.hpp"
#include "core/wire/info.hpp"

namespace omnio::mpi {

namespace {

// The text of a datatype (docs/formats/trace.md, "Types"), taken apart: of each part of the tree
// where its data lies, by the rules of MPI-3.1, section 4.1.
class MpiTypeParser {
 public:
  explicit MpiTypeParser(std::string_view text) : text_(text) {}

  // The whole text.
  base::Result<MpiType> all() {
    Part whole = type(0);
    if (!failed() && !text_.atEnd()) text_.fail("the type has ended");
    if (!failed()) whole.tiles = tilesOf(whole);
    if (!layout_->fits()) text_.fail("it is larger than any file");
    if (failed()) return base::Failure{base::Code::kDamaged, text_.problem()};
    whole.layout = layout_;
    return whole;
  }

 private:
  // A part of the tree: only the whole has a layout and tiles.
  using Part = MpiType;

  bool failed() const { return text_.failed() || !layout_->fits(); }

  DataLayout::Id tilesOf(const Part& part) {
    constexpr std::int64_t kFar = DataLayout::kMost / 2;
    if (part.extent > kFar || part.extent < -kFar) {  // no second one fits
      text_.fail("it is larger than any file");
      return 0;
    }
    const std::int64_t longest = std::max({part.size, part.extent, -part.extent, std::int64_t{1}});
    return layout_->repeat(part.data, std::max<std::int64_t>(kFar / longest, 1), part.extent);
  }

  Part type(int nesting) {
    constexpr int kMostNesting = 256;
    if (nesting > kMostNesting) text_.fail("it is nested too deeply");
    if (failed()) return {};
    Part part;
    const std::string_view name = text_.word();
    if (name == "b" && !text_.isNext('(')) {
      part.size = part.extent = text_.count();
      if (!failed()) part.data = layout_->bytes(part.size);
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

  Part made(std::string_view name, int nesting) {
    if (name == "dup") return type(nesting + 1);
    if (name == "contiguous") {
      const std::int64_t count = argument();
      const Part inner = type(nesting + 1);
      return repeated(inner, count, inner.extent);
    }
    if (name == "vector" || name == "hvector") return vector(name[0] == 'h', nesting);
    if (name == "indexed" || name == "hindexed") return indexed(name[0] == 'h', false, nesting);
    if (name == "indexed_block" || name == "hindexed_block") {
      return indexed(name[0] == 'h', true, nesting);
    }
    if (name == "struct") return structure(nesting);
    if (name == "subarray") return subarray(nesting);
    if (name == "darray") return darray(nesting);
    if (name == "resized") return resized(nesting);
    text_.fail("no way to make a type has this name");
    return {};
  }

  std::int64_t argument() {
    const std::int64_t value = text_.number();
    text_.take(';');
    return value;
  }

  NumberList list() {
    NumberList numbers = text_.list();
    text_.take(';');
    return numbers;
  }

  std::int64_t times(std::int64_t a, std::int64_t b) {
    std::int64_t value = 0;
    if (__builtin_mul_overflow(a, b, &value)) text_.fail("it is larger than any file");
    return value;
  }

  // As wide as its data where nothing else is told.
  Part of(DataLayout::Id data) const {
    const std::int64_t size = layout_->size(data);
    return {.data = data, .size = size, .lower_bound = 0, .extent = size};
  }
  Part of(DataLayout::Parts& parts) { return of(parts.finish()); }

  Part repeated(const Part& inner, std::int64_t count, std::int64_t step) {
    if (failed()) return {};
    DataLayout::Parts parts = layout_->parts();
    parts.add(0, step, count, inner.data);
    return of(parts);
  }

  Part vector(bool in_bytes, int nesting) {
    const std::int64_t count = argument();
    const std::int64_t length = argument();
    std::int64_t stride = argument();
    const Part inner = type(nesting + 1);
    if (!in_bytes) stride = times(stride, inner.extent);
    return repeated(repeated(inner, length, inner.extent), count, stride);
  }

  // `count` blocks of `length` behind one another.
  void addBlocks(DataLayout::Parts& parts, const Part& inner, std::int64_t length,
                 std::int64_t displacement, std::int64_t step, std::int64_t count) {
    if (length <= 0 || count <= 0 || inner.size == 0) {
      // A few words may tell of more of them than anybody waits for.
      if (++empty_blocks_ > DataLayout::kMostRuns) text_.fail("it has too many empty blocks");
      return;
    }
    if (layout_->isPlain(inner.data) && inner.extent == inner.size) {
      parts.addBytes(displacement, step, count, times(length, inner.size));
    } else {
      parts.add(displacement, step, count, layout_->repeat(inner.data, length, inner.extent));
    }
  }

  // A block for each displacement; those of `indexed_block` have one length.
  Part indexed(bool in_bytes, bool one_length, int nesting) {
    NumberList lengths;
    const std::int64_t length_of_all = one_length ? argument() : 0;
    if (!one_length) lengths = list();
    const NumberList displacements = list();
    const Part inner = type(nesting + 1);
    if (one_length) lengths.add({.first = length_of_all, .step = 0, .count = displacements.size()});
    if (lengths.size() != displacements.size()) text_.fail("the lists differ in length");
    if (failed()) return {};
    const std::int64_t unit = in_bytes ? 1 : inner.extent;
    DataLayout::Parts parts = layout_->parts();
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

  Part structure(int nesting) {
    const NumberList lengths = list();
    const NumberList displacements = list();
    if (lengths.size() != displacements.size()) text_.fail("the lists differ in length");
    DataLayout::Parts parts = layout_->parts();
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

  Part resized(int nesting) {
    const std::int64_t lower_bound = argument();
    const std::int64_t extent = argument();
    Part part = type(nesting + 1);
    part.lower_bound = lower_bound;
    part.extent = extent;
    return part;
  }

  // MPI-3.1, 4.1.3: the fastest dimension is the last one in C and the first one in Fortran.
  Part subarray(int nesting) {
    const std::vector<std::int64_t> sizes = list().all();
    const std::vector<std::int64_t> parts = list().all();
    const std::vector<std::int64_t> starts = list().all();
    const bool c_order = order();
    Part part = type(nesting + 1);
    if (parts.size() != sizes.size() || starts.size() != sizes.size()) {
      text_.fail("the lists differ in length");
    }
    std::int64_t unit = part.extent;
    for (std::size_t i = 0; i < sizes.size() && !failed(); ++i) {
      const std::size_t d = c_order ? sizes.size() - 1 - i : i;
      DataLayout::Parts dimension = layout_->parts();
      dimension.add(times(starts[d], unit), unit, parts[d], part.data);
      part = of(dimension);
      unit = times(unit, sizes[d]);
    }
    return part;
  }

  // MPI-3.1, 4.1.4: its own algorithm, dimension by dimension. The grid of processes is in C order.
  Part darray(int nesting) {
    std::int64_t processes = argument();
    std::int64_t rank = argument();
    const std::vector<std::int64_t> sizes = list().all();
    const std::string kinds = text_.letters();
    text_.take(';');
    const std::vector<std::int64_t> arguments = list().all();
    const std::vector<std::int64_t> grid = list().all();
    const bool c_order = order();
    Part part = type(nesting + 1);
    const std::size_t dimensions = sizes.size();
    if (kinds.size() != dimensions || arguments.size() != dimensions || grid.size() != dimensions) {
      text_.fail("the lists differ in length");
    }
    if (rank < 0 || rank >= processes) text_.fail("the rank is not in the grid");
    std::vector<std::int64_t> place(dimensions);
    for (std::size_t i = 0; i < dimensions && !failed(); ++i) {
      if (grid[i] < 1 || sizes[i] < 1 || processes % grid[i] != 0) {
        text_.fail("the grid is not one of so many processes");
        break;
      }
      processes /= grid[i];
      place[i] = rank / processes;
      rank %= processes;
    }
    std::int64_t unit = part.extent;
    for (std::size_t i = 0; i < dimensions && !failed(); ++i) {
      const std::size_t d = c_order ? dimensions - 1 - i : i;
      part = shareOf(part, unit,
                     {.kind = kinds[d],
                      .size = sizes[d],
                      .argument = arguments[d],
                      .place = place[d],
                      .processes = grid[d]});
      unit = times(unit, sizes[d]);
    }
    return part;
  }

  struct Distribution {
    char kind;               // b: block, c: cyclic, n: not distributed
    std::int64_t size;       // elements
    std::int64_t argument;   // elements in a block; 0: the default
    std::int64_t place;      // of the process in its row of the grid
    std::int64_t processes;  // in the row, at least 1
  };

  // The share of one dimension that a process has: blocks of elements go to each process in turn,
  // and the last block may be shorter. `unit` is the bytes from one element to the next.
  Part shareOf(const Part& element, std::int64_t unit, const Distribution& how) {
    std::int64_t block = how.argument;
    if (how.kind == 'n') {
      block = how.size;
    } else if (block == 0) {
      const std::int64_t begun = how.size % how.processes != 0 ? 1 : 0;
      block = how.kind == 'b' ? how.size / how.processes + begun : 1;
    }
    if (block < 1 || (how.kind != 'n' && how.kind != 'b' && how.kind != 'c')) {
      text_.fail("no distribution is like this");
    }
    const std::int64_t start = times(how.place, block);
    const std::int64_t cycle = times(how.processes, block);
    const std::int64_t begin = times(start, unit);
    const std::int64_t step = times(cycle, unit);
    if (failed()) return {};
    DataLayout::Parts parts = layout_->parts();
    if (start < how.size) {
      const std::int64_t begun = (how.size - start - 1) / cycle + 1;
      const std::int64_t last = start + (begun - 1) * cycle;
      const std::int64_t last_block = std::min(block, how.size - last);
      const std::int64_t whole = last_block == block ? begun : begun - 1;
      const std::int64_t last_begin = times(last, unit);
      parts.add(begin, step, whole, layout_->repeat(element.data, block, unit));
      if (whole < begun) {
        parts.add(last_begin, 0, 1, layout_->repeat(element.data, last_block, unit));
      }
    }
    return of(parts);
  }

  // Whether it is C's.
  bool order() {
    const std::string_view word = text_.word();
    if (word != "c" && word != "f") text_.fail("the order is neither c nor f");
    text_.take(';');
    return word == "c";
  }

  TypeText text_;
  const std::shared_ptr<DataLayout> layout_ = std::make_shared<DataLayout>();
  std::size_t empty_blocks_ = 0;
};

}  // namespace

base::Result<MpiType> parseMpiType(std::string_view text) { return MpiTypeParser(text).all(); }

std::string mpiTypeText(const tracefile::ProcessInfo& info, std::uint64_t number) {
  const std::string key = fmt::format("{}{}", wire::info::kTypePrefix, number);
  std::string text = info.text(key);
  for (unsigned piece = 1;; ++piece) {
    const std::string& more = info.text(fmt::format("{}.{}", key, piece));
    if (more.empty()) return text;
    text += more;
  }
}

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
