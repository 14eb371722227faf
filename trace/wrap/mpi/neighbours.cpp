#include "trace/wrap/mpi/neighbours.hpp"

#include "core/wire/info.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {
namespace {

using Ranks = Scratch<int, 64>;

bool isDone(int error) { return error == MPI_SUCCESS; }

int cartesian(MPI_Comm communicator, int dimensions, int* ranks) {
  auto* const shift = mpiFunction<decltype(MPI_Cart_shift)>("PMPI_Cart_shift");
  int count = 0;
  for (int d = 0; shift != nullptr && d < dimensions; ++d) {
    if (!isDone(shift(communicator, d, 1, &ranks[count], &ranks[count + 1]))) return 0;
    count += 2;
  }
  return count;
}

void tell(const Group& group, const int* ranks, int count) {
  const auto bytes = static_cast<std::size_t>(count) * 12 + 80;
  const Scratch<char, 1024> memory(bytes);
  if (!memory) return;
  Text text(memory.data(), bytes);
  text.put(wire::info::kGroupPrefix).putNumber(group.number).put(wire::info::kSourcesSuffix);
  text.putByte('\0');
  for (int i = 0; i < count; ++i) {
    if (ranks[i] < 0) continue;  // the edge of a grid
    text.putNumber(static_cast<std::uint64_t>(ranks[i])).putByte(' ');
  }
  text.putByte('\0');
  appendInfo(memory.data(), text.size());
}

}  // namespace

void tellNeighbours(MPI_Comm communicator, const Group& group) {
  auto* const test = mpiFunction<decltype(MPI_Topo_test)>("PMPI_Topo_test");
  int topology = MPI_UNDEFINED;
  if (group.number == 0 || group.kind != GroupKind::kComm || test == nullptr ||
      !isDone(test(communicator, &topology)) || topology == MPI_UNDEFINED) {
    return;
  }
  int count = 0;
  if (topology == MPI_CART) {
    auto* const dimensions = mpiFunction<decltype(MPI_Cartdim_get)>("PMPI_Cartdim_get");
    if (dimensions == nullptr || !isDone(dimensions(communicator, &count))) return;
    const Ranks ranks(2 * static_cast<std::size_t>(count));
    if (ranks) tell(group, ranks.data(), cartesian(communicator, count, ranks.data()));
  } else if (topology == MPI_GRAPH) {
    auto* const ask_count =
        mpiFunction<decltype(MPI_Graph_neighbors_count)>("PMPI_Graph_neighbors_count");
    auto* const ask = mpiFunction<decltype(MPI_Graph_neighbors)>("PMPI_Graph_neighbors");
    if (ask_count == nullptr || ask == nullptr ||
        !isDone(ask_count(communicator, group.rank, &count))) {
      return;
    }
    const Ranks ranks(static_cast<std::size_t>(count));
    if (ranks && isDone(ask(communicator, group.rank, count, ranks.data()))) {
      tell(group, ranks.data(), count);
    }
  } else if (topology == MPI_DIST_GRAPH) {
    auto* const ask_count =
        mpiFunction<decltype(MPI_Dist_graph_neighbors_count)>("PMPI_Dist_graph_neighbors_count");
    auto* const ask = mpiFunction<decltype(MPI_Dist_graph_neighbors)>("PMPI_Dist_graph_neighbors");
    int out = 0;
    int weighted = 0;
    if (ask_count == nullptr || ask == nullptr ||
        !isDone(ask_count(communicator, &count, &out, &weighted))) {
      return;
    }
    const Ranks in_ranks(static_cast<std::size_t>(count));
    const Ranks in_weights(static_cast<std::size_t>(count));
    const Ranks out_ranks(static_cast<std::size_t>(out));
    const Ranks out_weights(static_cast<std::size_t>(out));
    if (!in_ranks || !in_weights || !out_ranks || !out_weights) return;
    if (isDone(ask(communicator, count, in_ranks.data(), in_weights.data(), out, out_ranks.data(),
                   out_weights.data()))) {
      tell(group, in_ranks.data(), count);
    }
  }
}

}  // namespace omnio::trace
