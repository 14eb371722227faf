// Collective calls. Each member counts those on its communicator, so that they have the same number
// everywhere. Bytes are what this rank gives: its part of the data, or of a scatter what it gets.

#include <string_view>

#include "core/wire/info.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/mpi/communicators.hpp"
#include "trace/wrap/mpi/sync_call.hpp"

namespace omnio::trace::OMNIO_MPI_ABI {
namespace {

using Ranks = Scratch<int, 64>;

int cartesian(MPI_Comm communicator, int dimensions, int* ranks) {
  for (int d = 0; d < dimensions; ++d) {
    if (!ask(OMNIO_LAZY_MPI(PMPI_Cart_shift), communicator, d, 1, &ranks[2 * d],
             &ranks[2 * d + 1])) {
      return 0;
    }
  }
  return 2 * dimensions;
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
  int topology = MPI_UNDEFINED;
  if (group.number == 0 || group.kind != GroupKind::kComm ||
      !ask(OMNIO_LAZY_MPI(PMPI_Topo_test), communicator, &topology)) {
    return;
  }
  int count = 0;
  if (topology == MPI_CART) {
    if (!ask(OMNIO_LAZY_MPI(PMPI_Cartdim_get), communicator, &count)) return;
    const Ranks ranks(2 * static_cast<std::size_t>(count));
    if (ranks) tell(group, ranks.data(), cartesian(communicator, count, ranks.data()));
  } else if (topology == MPI_GRAPH) {
    if (!ask(OMNIO_LAZY_MPI(PMPI_Graph_neighbors_count), communicator, group.rank, &count)) return;
    const Ranks ranks(static_cast<std::size_t>(count));
    if (ranks &&
        ask(OMNIO_LAZY_MPI(PMPI_Graph_neighbors), communicator, group.rank, count, ranks.data())) {
      tell(group, ranks.data(), count);
    }
  } else if (topology == MPI_DIST_GRAPH) {
    int out = 0;
    int weighted = 0;
    if (!ask(OMNIO_LAZY_MPI(PMPI_Dist_graph_neighbors_count), communicator, &count, &out,
             &weighted)) {
      return;
    }
    const Ranks in_ranks(static_cast<std::size_t>(count));
    const Ranks in_weights(static_cast<std::size_t>(count));
    const Ranks out_ranks(static_cast<std::size_t>(out));
    const Ranks out_weights(static_cast<std::size_t>(out));
    if (in_ranks && in_weights && out_ranks && out_weights &&
        ask(OMNIO_LAZY_MPI(PMPI_Dist_graph_neighbors), communicator, count, in_ranks.data(),
            in_weights.data(), out, out_ranks.data(), out_weights.data())) {
      tell(group, in_ranks.data(), count);
    }
  }
}

namespace {

// Ranks that this one exchanges data with.
int peersIn(MPI_Comm communicator) {
  const Group* group = groupOf(communicator);
  if (group == nullptr) return 0;
  return group->kind == GroupKind::kInter ? group->remote : group->size;
}

std::uint64_t bytesOfAll(const int* counts, MPI_Datatype type, int ranks) {
  long sum = 0;
  for (int i = 0, n = counts == nullptr ? 0 : ranks; i < n; ++i) sum += counts[i];
  return bytesOf(sum, type);
}

// Returns how many ranks get a part of a reduction's result: those of one's own side.
int ranksIn(MPI_Comm communicator) {
  const Group* group = groupOf(communicator);
  return group == nullptr ? 0 : group->size;
}

std::uint64_t bytesOfEach(const int* counts, const MPI_Datatype* types, MPI_Comm communicator) {
  std::uint64_t sum = 0;
  if (counts == nullptr || types == nullptr) return 0;
  for (int i = 0, n = peersIn(communicator); i < n; ++i) sum += bytesOf(counts[i], types[i]);
  return sum;
}

bool isInPlace(const void* data) { return data == MPI_IN_PLACE; }

// The shape says what is recorded besides the group and the number of the call.
enum class Shape { kPlain, kSized, kRooted };

// Whether the call looks at the data that this rank names. In an intercommunicator the root and the
// ranks beside it name none: MPI does not look at what they pass (MPI-3.1, 5.2.2), nor do we.
bool isLookedAt(CallId id, int root) {
  if (root == MPI_PROC_NULL) return false;
  return root != MPI_ROOT || calls::does(calls::rowOf(id), calls::Effect::kRootNamesData);
}

// `bytes` is asked after a call that has not failed.
template <Shape kShape, typename Make, typename Bytes>
int collective(CallId id, MPI_Comm communicator, int root, MPI_Request* request, Make make,
               Bytes bytes) {
  SyncCall call(id, make);
  if (!call.isOurs()) return call.result();
  Group* group = nullptr;
  std::uint64_t size = 0;
  std::uint64_t seq = 0;
  std::uint64_t began = 0;
  if (!call.failed()) {
    group = groupOf(communicator);
    seq = nextCall(group);
    if (kShape != Shape::kRooted || isLookedAt(id, root)) size = bytes();
    if (request != nullptr) began = beginRequest(*request, {});
  }
  const bool is_blocking = request == nullptr;
  if constexpr (kShape == Shape::kPlain) {
    call.recordEither<CallId::MPI_Barrier, CallId::MPI_Ibarrier>(is_blocking, began, group, seq);
  } else if constexpr (kShape == Shape::kSized) {
    call.recordEither<CallId::MPI_Allreduce, CallId::MPI_Iallreduce>(is_blocking, began, group,
                                                                     size, seq);
  } else {
    call.recordEither<CallId::MPI_Bcast, CallId::MPI_Ibcast>(is_blocking, began, group,
                                                             peerOf(root), size, seq);
  }
  return call.result();
}

}  // namespace

// A call under both names. Its parameters are a0, a1, ...: COMM, ROOT, REQUEST and BYTES are said
// in terms of them.
#define OMNIO_COLLECTIVE_NAME(PREFIX, NAME, COUNT, SHAPE, COMM, ROOT, REQUEST, BYTES)        \
  OMNIO_MPI_EXPORT(PREFIX##_##NAME, COUNT,                                                   \
                   collective<Shape::SHAPE>(                                                 \
                       CallId::PREFIX##_##NAME, COMM, ROOT, REQUEST,                         \
                       [&] {                                                                 \
                         constexpr auto kCall = CallId::PREFIX##_##NAME;                     \
                         return realMpi<decltype(::MPI_##NAME)>(kCall)(OMNIO_NAMES_##COUNT); \
                       },                                                                    \
                       [&]() -> std::uint64_t { return BYTES; }))
#define OMNIO_COLLECTIVE_BOTH(NAME, COUNT, ...)        \
  OMNIO_COLLECTIVE_NAME(MPI, NAME, COUNT, __VA_ARGS__) \
  OMNIO_COLLECTIVE_NAME(PMPI, NAME, COUNT, __VA_ARGS__)
// And its nonblocking form, whose one parameter more is the request.
#define OMNIO_COLLECTIVE(NAME, INAME, COUNT, ICOUNT, SHAPE, COMM, ROOT, BYTES) \
  OMNIO_COLLECTIVE_BOTH(NAME, COUNT, SHAPE, COMM, ROOT, nullptr, BYTES)        \
  OMNIO_COLLECTIVE_BOTH(INAME, ICOUNT, SHAPE, COMM, ROOT, a##COUNT, BYTES)

OMNIO_COLLECTIVE(Barrier, Ibarrier, 1, 2, kPlain, a0, 0, 0)
OMNIO_COLLECTIVE(Bcast, Ibcast, 5, 6, kRooted, a4, a3, bytesOf(a1, a2))
OMNIO_COLLECTIVE(Reduce, Ireduce, 7, 8, kRooted, a6, a5, bytesOf(a2, a3))
OMNIO_COLLECTIVE(Allreduce, Iallreduce, 6, 7, kSized, a5, 0, bytesOf(a2, a3))
OMNIO_COLLECTIVE(Gather, Igather, 8, 9, kRooted, a7, a6,
                 isInPlace(a0) ? bytesOf(a4, a5) : bytesOf(a1, a2))
OMNIO_COLLECTIVE(Gatherv, Igatherv, 9, 10, kRooted, a8, a7, isInPlace(a0) ? 0 : bytesOf(a1, a2))
OMNIO_COLLECTIVE(Scatter, Iscatter, 8, 9, kRooted, a7, a6,
                 isInPlace(a3) ? bytesOf(a1, a2) : bytesOf(a4, a5))
OMNIO_COLLECTIVE(Scatterv, Iscatterv, 9, 10, kRooted, a8, a7, isInPlace(a4) ? 0 : bytesOf(a5, a6))
OMNIO_COLLECTIVE(Allgather, Iallgather, 7, 8, kSized, a6, 0,
                 isInPlace(a0) ? bytesOf(a4, a5) : bytesOf(a1, a2))
OMNIO_COLLECTIVE(Allgatherv, Iallgatherv, 8, 9, kSized, a7, 0, isInPlace(a0) ? 0 : bytesOf(a1, a2))
OMNIO_COLLECTIVE(Alltoall, Ialltoall, 7, 8, kSized, a6, 0,
                 static_cast<std::uint64_t>(peersIn(a6)) *
                     (isInPlace(a0) ? bytesOf(a4, a5) : bytesOf(a1, a2)))
OMNIO_COLLECTIVE(Alltoallv, Ialltoallv, 9, 10, kSized, a8, 0,
                 isInPlace(a0) ? bytesOfAll(a5, a7, peersIn(a8)) : bytesOfAll(a1, a3, peersIn(a8)))
OMNIO_COLLECTIVE(Alltoallw, Ialltoallw, 9, 10, kSized, a8, 0,
                 isInPlace(a0) ? bytesOfEach(a5, a7, a8) : bytesOfEach(a1, a3, a8))
OMNIO_COLLECTIVE(Reduce_scatter, Ireduce_scatter, 6, 7, kSized, a5, 0,
                 bytesOfAll(a2, a3, ranksIn(a5)))
OMNIO_COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, 6, 7, kSized, a5, 0,
                 static_cast<std::uint64_t>(ranksIn(a5)) * bytesOf(a2, a3))
OMNIO_COLLECTIVE(Scan, Iscan, 6, 7, kSized, a5, 0, bytesOf(a2, a3))
OMNIO_COLLECTIVE(Exscan, Iexscan, 6, 7, kSized, a5, 0, bytesOf(a2, a3))
// To each neighbour; how many there are is in the facts of the communicator.
OMNIO_COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, 7, 8, kSized, a6, 0, bytesOf(a1, a2))
OMNIO_COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, 8, 9, kSized, a7, 0, bytesOf(a1, a2))
OMNIO_COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, 7, 8, kSized, a6, 0, bytesOf(a1, a2))
OMNIO_COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, 9, 10, kSized, a8, 0, 0)
OMNIO_COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, 9, 10, kSized, a8, 0, 0)

}  // namespace omnio::trace::OMNIO_MPI_ABI
