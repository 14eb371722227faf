#include "core/mpi_type.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "core/distributed_array.hpp"
#include "core/mpi_type_lists.hpp"
#include "core/wire/info.hpp"

namespace omnio {
namespace {

constexpr int kMostNesting = 256;

// A part of the tree.
struct Part {
  DataLayout::Id data = 0;
  std::int64_t size = 0;
  std::int64_t lower_bound = 0;
  std::int64_t extent = 0;
};

class Parser {
 public:
  Parser(std::string_view text, DataLayout& layout) : text_(text), layout_(layout) {}

  std::optional<Part> all() {
    const Part part = type(0);
    if (!failed() && !text_.atEnd()) text_.fail("the type has ended");
    if (!layout_.fits()) text_.fail("it is larger than any file");
    if (failed()) return {};
    return part;
  }
  std::optional<DataLayout::Id> tilesOf(const Part& part) {
    constexpr std::int64_t kFar = DataLayout::kMost / 2;
    const std::int64_t longest = std::max({part.size, std::abs(part.extent), std::int64_t{1}});
    const DataLayout::Id tiles =
        layout_.repeat(part.data, std::max<std::int64_t>(kFar / longest, 1), part.extent);
    if (!layout_.fits()) text_.fail("it is larger than any file");
    if (failed()) return {};
    return tiles;
  }
  const std::string& problem() const { return text_.problem(); }

 private:
  using Lists = NumberList;
  bool failed() const { return text_.failed() || !layout_.fits(); }

  Part type(int nesting) {
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

  Part made(std::string_view name, int nesting) {
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
    if (name == "resized") {
      const std::int64_t lower_bound = argument();
      const std::int64_t extent = argument();
      Part part = type(nesting + 1);
      part.lower_bound = lower_bound;
      part.extent = extent;
      return part;
    }
    text_.fail("no way to make a type has this name");
    return {};
  }

  std::int64_t argument() {
    const std::int64_t value = text_.number();
    text_.take(';');
    return value;
  }
  Lists list() {
    Lists numbers = text_.list();
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
    const std::int64_t size = layout_.size(data);
    return {.data = data, .size = size, .lower_bound = 0, .extent = size};
  }
  Part of(DataLayout::Parts& parts) { return of(parts.finish()); }

  Part repeated(const Part& inner, std::int64_t count, std::int64_t step) {
    if (failed()) return {};
    DataLayout::Parts parts = layout_.parts();
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

  // Blocks of `length` behind one another.
  void addBlocks(DataLayout::Parts& parts, const Part& inner, std::int64_t length,
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

  Part indexed(bool in_bytes, int nesting) {
    const Lists lengths = list();
    const Lists displacements = list();
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

  Part indexedBlock(bool in_bytes, int nesting) {
    const std::int64_t length = argument();
    const Lists displacements = list();
    const Part inner = type(nesting + 1);
    if (failed()) return {};
    const std::int64_t unit = in_bytes ? 1 : inner.extent;
    DataLayout::Parts parts = layout_.parts();
    for (NumberList::Cursor at(displacements); !at.atEnd() && !failed(); at.skip(at.left())) {
      addBlocks(parts, inner, length, times(at.value(), unit), times(at.step(), unit), at.left());
    }
    return of(parts);
  }

  Part structure(int nesting) {
    const Lists lengths = list();
    const Lists displacements = list();
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
      DataLayout::Parts dimension = layout_.parts();
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
    if (rank < 0 || rank >= processes) text_.fail("there is no such rank in the grid");
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
      const std::optional<DataLayout::Id> mine = distributed(layout_, part.data, unit,
                                                             {.kind = kinds[d],
                                                              .size = sizes[d],
                                                              .argument = arguments[d],
                                                              .place = place[d],
                                                              .processes = grid[d]});
      if (!mine) {
        text_.fail("no distribution is like this");
        break;
      }
      part = of(*mine);
      unit = times(unit, sizes[d]);
    }
    return part;
  }

  // Whether it is C's.
  bool order() {
    const std::string_view word = text_.word();
    if (word != "c" && word != "f") text_.fail("the order is neither c nor f");
    text_.take(';');
    return word == "c";
  }

  TypeText text_;
  DataLayout& layout_;
  std::size_t empty_blocks_ = 0;
};

}  // namespace

Result<MpiType> parseMpiType(std::string_view text) {
  const auto layout = std::make_shared<DataLayout>();
  Parser parser(text, *layout);
  const std::optional<Part> part = parser.all();
  const std::optional<DataLayout::Id> tiles =
      part ? parser.tilesOf(*part) : std::optional<DataLayout::Id>();
  if (!tiles) return Failure{Code::kDamaged, parser.problem()};
  return MpiType{.layout = layout,
                 .data = part->data,
                 .tiles = *tiles,
                 .size = part->size,
                 .lower_bound = part->lower_bound,
                 .extent = part->extent};
}

std::string mpiTypeText(const ProcessInfo& info, std::uint64_t number) {
  const std::string key = fmt::format("{}{}", wire::info::kTypePrefix, number);
  std::string text = info.text(key);
  for (unsigned piece = 1;; ++piece) {
    const std::string& more = info.text(fmt::format("{}.{}", key, piece));
    if (more.empty()) return text;
    text += more;
  }
}

}  // namespace omnio
