// The text of a datatype (docs/formats/trace.md, "Types"), taken apart: of each part of the tree
// where its data lies, by the rules of MPI-3.1, section 4.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/mpi/data_layout.hpp"
#include "core/mpi/datatype_lists.hpp"

namespace omnio::mpi {

class MpiTypeParser {
 public:
  // A part of the tree.
  struct Part {
    DataLayout::Id data = 0;
    std::int64_t size = 0;
    std::int64_t lower_bound = 0;
    std::int64_t extent = 0;
  };
  struct Whole : Part {
    DataLayout::Id tiles = 0;  // one behind the other: as many as any file holds
  };

  // What it refers to has to outlive it; `layout` gets the parts.
  MpiTypeParser(std::string_view text, DataLayout& layout) : text_(text), layout_(layout) {}

  // The whole text; nothing when it makes no sense.
  std::optional<Whole> all();
  // "datatype, byte N: why", when there was nothing.
  const std::string& problem() const { return text_.problem(); }

 private:
  bool failed() const { return text_.failed() || !layout_.fits(); }

  DataLayout::Id tilesOf(const Part& part);
  Part type(int nesting);
  Part made(std::string_view name, int nesting);
  Part vector(bool in_bytes, int nesting);
  Part indexed(bool in_bytes, int nesting);
  Part indexedBlock(bool in_bytes, int nesting);
  Part structure(int nesting);
  Part resized(int nesting);
  // In core/mpi/datatype_arrays.cpp.
  Part subarray(int nesting);
  Part darray(int nesting);
  bool order();  // whether it is C's

  std::int64_t argument();
  NumberList list();
  std::int64_t times(std::int64_t a, std::int64_t b);
  // As wide as its data where nothing else is told.
  Part of(DataLayout::Id data) const;
  Part of(DataLayout::Parts& parts) { return of(parts.finish()); }
  Part repeated(const Part& inner, std::int64_t count, std::int64_t step);
  // `count` blocks of `length` behind one another.
  void addBlocks(DataLayout::Parts& parts, const Part& inner, std::int64_t length,
                 std::int64_t displacement, std::int64_t step, std::int64_t count);

  TypeText text_;
  DataLayout& layout_;
  std::size_t empty_blocks_ = 0;
};

}  // namespace omnio::mpi
