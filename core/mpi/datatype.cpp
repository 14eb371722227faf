#include "core/mpi/datatype.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/mpi/data_layout.hpp"
#include "core/wire/info.hpp"

namespace omnio::mpi {

void NumberList::add(Run run) {
  if (run.count <= 0) return;
  if (run.count == 1) run.step = 0;
  size_ += run.count;
  runs_.push_back(run);
}

std::vector<std::int64_t> NumberList::all() const {
  constexpr std::size_t kMost = 64;
  std::vector<std::int64_t> numbers;
  for (Cursor at(*this); !at.atEnd() && numbers.size() < kMost; at.skip(1)) {
    numbers.push_back(at.value());
  }
  return numbers;
}

void TypeText::fail(std::string_view why) {
  if (!failed()) problem_ = fmt::format("datatype, byte {}: {}", at_, why);
}

bool TypeText::takeIf(char c) {
  if (failed() || !isNext(c)) return false;
  ++at_;
  return true;
}

void TypeText::take(char c) {
  if (!takeIf(c)) fail(fmt::format("no '{}' here", c));
}

std::string_view TypeText::word() {
  const std::size_t begin = at_;
  while (!failed() && at_ < text_.size() &&
         ((text_[at_] >= 'a' && text_[at_] <= 'z') || text_[at_] == '_')) {
    ++at_;
  }
  return text_.substr(begin, at_ - begin);
}

std::string TypeText::letters() {
  std::string all;
  do {
    const std::string_view letter = word();
    if (letter.size() != 1) fail("no letter here");
    if (failed()) return {};
    all += letter;
  } while (takeIf(','));
  return all;
}

std::int64_t TypeText::number() {
  if (failed()) return 0;
  std::int64_t value = 0;
  const char* const begin = text_.data() + at_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error != std::errc()) {
    fail("no number here");
    return 0;
  }
  at_ += static_cast<std::size_t>(end - begin);
  return value;
}

std::int64_t TypeText::count() {
  const std::int64_t value = number();
  if (value < 0) fail("a count is negative");
  return failed() ? 0 : value;
}

NumberList TypeText::list() {
  NumberList numbers;
  if (isNext(';')) return numbers;
  do {
    NumberList::Run run{.first = number(), .step = 0, .count = 1};
    const bool up = takeIf('+');
    if (up || isNext('-')) run.step = number();
    if (up && run.step < 0) fail("a step has two signs");
    if (takeIf('x')) {
      run.count = count();
    } else if (run.step != 0) {
      fail("a step without a count");
    }
    std::int64_t last = 0;
    std::int64_t size = 0;
    if (__builtin_mul_overflow(run.step, run.count, &last) ||
        __builtin_add_overflow(run.first, last, &last) ||
        __builtin_add_overflow(numbers.size(), run.count, &size)) {
      fail("a list is longer than any");
    }
    if (failed()) return {};
    numbers.add(run);
  } while (takeIf(','));
  return numbers;
}

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

base::Result<MpiType> parseMpiType(std::string_view text) {
  const auto layout = std::make_shared<DataLayout>();
  MpiTypeParser parser(text, *layout);
  const std::optional<MpiTypeParser::Whole> whole = parser.all();
  if (!whole) return base::Failure{base::Code::kDamaged, parser.problem()};
  return MpiType{.layout = layout,
                 .data = whole->data,
                 .tiles = whole->tiles,
                 .size = whole->size,
                 .lower_bound = whole->lower_bound,
                 .extent = whole->extent};
}

std::string mpiTypeText(const tracefile::ProcessInfo& info, std::uint64_t number) {
  const std::string key = fmt::format("{}{}", wire::info::kTypePrefix, number);
  std::string text = info.text(key);
  for (unsigned piece = 1;; ++piece) {
    const std::string& more = info.text(fmt::format("{}.{}", key, piece));
    if (more.empty()) return text;
    text += more;
  }
}

// Blocks of arrays, as processes share them.
// MPI-3.1, 4.1.3: the fastest dimension is the last one in C and the first one in Fortran.
MpiTypeParser::Part MpiTypeParser::subarray(int nesting) {
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
MpiTypeParser::Part MpiTypeParser::darray(int nesting) {
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

bool MpiTypeParser::order() {
  const std::string_view word = text_.word();
  if (word != "c" && word != "f") text_.fail("the order is neither c nor f");
  text_.take(';');
  return word == "c";
}

}  // namespace omnio::mpi
