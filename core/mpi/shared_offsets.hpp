// Where the accesses by shared file pointers lie (MPI-3.1, 13.4.4).
//
// Ordered ones follow from all ranks' calls: that of a rank begins behind those of the lower ranks,
// and all of them behind what was accessed before. Of the others MPI alone knows the order: they
// are where the POSIX calls lie that the library made for them below, from the first byte in the
// file to the last, if the view has such a request. What cannot be known for sure is not told.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/mpi/strided_pieces.hpp"
#include "core/tracefile/process.hpp"

namespace omnio::mpi {

struct MpiSharedPlace {
  std::optional<std::int64_t> etypes;  // of the view
  std::vector<Stride> pieces;          // of the file, found below where the view is not known
};

class MpiSharedOffsets {
 public:
  MpiSharedOffsets() = default;
  // Reads the MPI-IO of the processes that used shared pointers. They have to be all of the trace:
  // where one of a file's ranks is missing its ordered accesses are not known.
  explicit MpiSharedOffsets(const std::vector<const tracefile::Process*>& processes);

  // Of the process's MPI event of this tick; nullptr when it is not known.
  const MpiSharedPlace* find(const tracefile::Process& process, std::uint64_t tick) const;

 private:
  std::map<std::pair<const tracefile::Process*, std::uint64_t>, MpiSharedPlace> places_;
};

// Whether the process said that it used shared pointers.
bool usesSharedPointers(const tracefile::ProcessInfo& info);

}  // namespace omnio::mpi
