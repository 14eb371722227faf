#include "trace/wrap/mpi/rank_list.hpp"

#include "trace/runtime/mpi/groups.hpp"

namespace omnio::trace {

MPI_Group worldGroup() {
  static std::atomic<MPI_Group> known{nullptr};
  MPI_Group group = known.load(std::memory_order_acquire);
  if (group != nullptr || mpiLibrary().world == nullptr) return group;
  auto* const group_of = mpiFunction<decltype(MPI_Comm_group)>("PMPI_Comm_group");
  if (group_of == nullptr ||
      group_of(static_cast<MPI_Comm>(mpiLibrary().world), &group) != MPI_SUCCESS) {
    return nullptr;
  }
  known.store(group, std::memory_order_release);
  return group;
}

bool translateRanks(MPI_Group from, int* ranks, int count, MPI_Group to) {
  auto* const translate =
      mpiFunction<decltype(MPI_Group_translate_ranks)>("PMPI_Group_translate_ranks");
  if (translate == nullptr || from == nullptr || to == nullptr) return false;
  const Scratch<int, 64> asked(static_cast<std::size_t>(count));
  if (!asked) return false;
  for (int i = 0; i < count; ++i) asked[static_cast<std::size_t>(i)] = ranks[i];
  return translate(from, count, asked.data(), to, ranks) == MPI_SUCCESS;
}

std::uint64_t hashOfRanks(MPI_Group group) {
  auto* const size_of = mpiFunction<decltype(MPI_Group_size)>("PMPI_Group_size");
  int size = 0;
  if (size_of == nullptr || size_of(group, &size) != MPI_SUCCESS || size < 0) return 0;
  const Scratch<int, 64> ranks(static_cast<std::size_t>(size));
  if (!ranks) return 0;
  for (int i = 0; i < size; ++i) ranks[static_cast<std::size_t>(i)] = i;
  if (!translateRanks(group, ranks.data(), size, worldGroup())) return 0;
  std::uint64_t hash = static_cast<std::uint32_t>(size);
  for (int i = 0; i < size; ++i) {
    hash = mixed(hash, static_cast<std::uint32_t>(ranks[static_cast<std::size_t>(i)]));
  }
  return hash;
}

}  // namespace omnio::trace
