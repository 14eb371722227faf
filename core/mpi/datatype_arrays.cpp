// Blocks of arrays, as processes share them.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/mpi/datatype_parser.hpp"
#include "core/mpi/distributed_array.hpp"

namespace omnio::mpi {

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
