// A datatype as the trace tells it (docs/formats/trace.md, "Types"; MPI-3.1, chapter 4): parsed,
// and with it where its data lies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/mpi/data_layout.hpp"
#include "core/tracefile/process.hpp"

namespace omnio::mpi {

struct MpiType {
  std::shared_ptr<const DataLayout> layout{};
  DataLayout::Id data = 0;
  // One behind the other, as a view has them: as many as any file holds.
  DataLayout::Id tiles = 0;
  std::int64_t size = 0;  // bytes of data
  std::int64_t lower_bound = 0;
  std::int64_t extent = 0;  // bytes from the begin of one to the next
};

// The sentence of a failure says what is wrong at which byte of the text. Nothing in the text makes
// this recurse or take memory without bounds.
base::Result<MpiType> parseMpiType(std::string_view text);

// Text of the type of this number that the process recorded, put together when it is in several
// facts; empty when there is none.
std::string mpiTypeText(const tracefile::ProcessInfo& info, std::uint64_t number);

// The part of an MPI file that a process sees (MPI-3.1, 13.3): the data of filetypes, one behind
// the other from a displacement on, counted in etypes.
class MpiView {
 public:
  // The whole file in bytes, as after an open.
  MpiView();
  // `displacement` in bytes. An etype or filetype without data makes a view of nothing.
  MpiView(std::int64_t displacement, const MpiType& etype, const MpiType& filetype);

  // Bytes of data in an etype, at least 1.
  std::int64_t etypeBytes() const { return etype_bytes_; }

  // The place in the file, in bytes, of a byte of the view's data. Not there: the view has no such
  // byte.
  std::optional<std::int64_t> inFile(std::int64_t view_byte) const;

  // Pieces of the file that a request is about, by its begin in etypes and its bytes; until `out`
  // is full. False when the view does not reach so far.
  bool pieces(std::int64_t etypes, std::int64_t bytes, StridedPieces& out) const;

  // The begin in etypes of the request of so many bytes (at least 1) whose bytes in the file are
  // the one at `first`, the one before `end`, and between. Not there: there is none, or not only
  // one.
  std::optional<std::int64_t> requestAt(std::int64_t first, std::int64_t end,
                                        std::int64_t bytes) const;

 private:
  std::shared_ptr<const DataLayout> layout_;
  DataLayout::Id tiles_ = 0;
  std::int64_t displacement_ = 0;
  std::int64_t etype_bytes_ = 1;
};

}  // namespace omnio::mpi
