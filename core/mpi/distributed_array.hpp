// What a process has of one dimension of a distributed array (MPI-3.1, 4.1.4:
// MPI_Type_create_darray).
#pragma once

#include <cstdint>
#include <optional>

#include "core/mpi/data_layout.hpp"

namespace omnio::mpi {

struct Distribution {
  char kind = 'n';             // b: block, c: cyclic, n: not distributed
  std::int64_t size = 0;       // elements
  std::int64_t argument = 0;   // elements in a block; 0: the default
  std::int64_t place = 0;      // of the process in its row of the grid
  std::int64_t processes = 1;  // in the row, at least 1
};

// Of elements that lie as `data` does, `unit` bytes from one to the next. Nothing when there is no
// such distribution.
std::optional<DataLayout::Id> distributed(DataLayout& layout, DataLayout::Id data,
                                          std::int64_t unit, const Distribution& how);

}  // namespace omnio::mpi
