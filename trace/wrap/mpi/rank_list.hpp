// Ranks of MPI groups as ranks of MPI_COMM_WORLD.
#pragma once

#include "trace/runtime/sys/scratch.hpp"
#include "trace/wrap/mpi/library.hpp"

namespace omnio::trace {

// Ranks 0, 1, ... of `from` (or those that `ranks` holds already), as ranks of `to`, in `ranks`.
// False when MPI cannot tell.
bool translateRanks(MPI_Group from, int* ranks, int count, MPI_Group to);

// The group of all of MPI_COMM_WORLD; it is never freed.
MPI_Group worldGroup();

// A number made of all ranks of a group, in their order.
std::uint64_t hashOfRanks(MPI_Group group);

// The same of the group that PMPI function `name` gives for an object.
template <typename Function, typename Object>
std::uint64_t hashOfRanksOf(const char* name, Object object) {
  auto* const group_of = mpiFunction<Function>(name);
  auto* const free_group = mpiFunction<decltype(MPI_Group_free)>("PMPI_Group_free");
  MPI_Group group = nullptr;
  if (group_of == nullptr || free_group == nullptr || group_of(object, &group) != MPI_SUCCESS) {
    return 0;
  }
  const std::uint64_t hash = hashOfRanks(group);
  free_group(&group);
  return hash;
}

// The rank in MPI_COMM_WORLD of the first rank of the group that PMPI function `name` gives for an
// object; a number that no rank has, when MPI cannot tell.
template <typename Function, typename Object>
std::uint64_t worldRankOf(const char* name, Object object) {
  auto* const group_of = mpiFunction<Function>(name);
  auto* const free_group = mpiFunction<decltype(MPI_Group_free)>("PMPI_Group_free");
  constexpr std::uint64_t kNobody = ~std::uint64_t{0} >> 8;
  MPI_Group group = nullptr;
  if (group_of == nullptr || free_group == nullptr) return kNobody;
  const MPI_Group world = worldGroup();
  if (world == nullptr || group_of(object, &group) != MPI_SUCCESS) return kNobody;
  int rank = 0;
  const bool is_known = translateRanks(group, &rank, 1, world) && rank >= 0;
  free_group(&group);
  return is_known ? static_cast<std::uint64_t>(rank) : kNobody;
}

}  // namespace omnio::trace
