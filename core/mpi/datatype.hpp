// A datatype as the trace tells it (docs/formats/trace.md, "Types"; MPI-3.1, chapter 4): parsed,
// and with it where its data lies.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/mpi/data_layout.hpp"
#include "core/tracefile/process.hpp"

namespace omnio::mpi {

struct MpiType {
  std::shared_ptr<const DataLayout> layout;
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

}  // namespace omnio::mpi
