#include "trace/wrap/mpi_clock_leaders.hpp"

#include <algorithm>

#include "trace/runtime/clock_marks.hpp"
#include "trace/runtime/container_writer.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/scratch.hpp"
#include "trace/wrap/mpi_own_call.hpp"

namespace omnio::trace {
namespace {

using namespace own_call;

constexpr std::uint64_t kMs = 1'000'000;  // ns
constexpr int kTag = 28525;               // below the 32767 that MPI-3.1, 8.1.2, promises
constexpr std::size_t kMostLeaders = 65536;

ClockMarks marks;

// An error on MPI_COMM_WORLD is no reason to end the application while this lives.
class ErrorsReturn {
 public:
  explicit ErrorsReturn(MPI_Comm comm) : comm_(comm) {
    OMNIO_PMPI(Comm_get_errhandler, comm_, &before_);
    OMNIO_PMPI(Comm_set_errhandler, comm_, errorsReturn());
  }
  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;
  ~ErrorsReturn() {
    if (before_ == nullptr) return;
    OMNIO_PMPI(Comm_set_errhandler, comm_, before_);
    OMNIO_PMPI(Errhandler_free, &before_);
  }

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = nullptr;
};

// Keeps one leader of each clock other than this process's; returns how many.
std::size_t otherClocks(ClockLeader* list, std::size_t count) {
  const auto byClock = [](const ClockLeader& a, const ClockLeader& b) {
    return a.domain != b.domain ? a.domain < b.domain : a.rank < b.rank;
  };
  std::sort(list, list + count, byClock);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_first = i == 0 || list[i].domain != list[i - 1].domain;
    if (is_first && list[i].domain != marks.own().domain && list[i].rank > 0 &&
        list[i].rank < mpi_identity.ranks) {
      list[kept++] = list[i];
    }
  }
  std::sort(list, list + kept,
            [](const ClockLeader& a, const ClockLeader& b) { return a.rank < b.rank; });
  return kept;
}

MPI_Comm makeCommunicator(MPI_Comm world, const int* ranks, int count) {
  MPI_Group all = nullptr;
  MPI_Group group = nullptr;
  if (OMNIO_PMPI(Comm_group, world, &all) != MPI_SUCCESS) return nullptr;
  MPI_Comm made = nullptr;
  if (OMNIO_PMPI(Group_incl, all, count, ranks, &group) == MPI_SUCCESS) {
    if (OMNIO_PMPI(Comm_create_group, world, group, kTag, &made) == MPI_SUCCESS) {
      OMNIO_PMPI(Comm_set_errhandler, made, errorsReturn());
    } else {
      made = nullptr;
    }
    OMNIO_PMPI(Group_free, &group);
  }
  OMNIO_PMPI(Group_free, &all);
  return made;
}

// Rank 0: whoever has read that it is meant says so, and who did is told of all that did.
MPI_Comm gatherLeaders(MPI_Comm world) {
  constexpr std::uint64_t kLongest = 3000 * kMs;  // more than ClockMarks::isMeant() takes
  Scratch<ClockLeader, 16> list(kMostLeaders);
  if (!list) return nullptr;
  const std::size_t count = otherClocks(list.data(), marks.read(list.data(), kMostLeaders));
  // Before the list is known, so that nobody's message comes unexpected.
  Scratch<MPI_Request, 16> requests(count);
  Scratch<int, 16> ranks(count + 1);
  if (!requests || !ranks) return nullptr;
  std::size_t asked = 0;
  while (asked < count && OMNIO_PMPI(Irecv, nullptr, 0, bytes(), list[asked].rank, kTag, world,
                                     &requests[asked]) == MPI_SUCCESS) {
    ++asked;
  }
  // When it cannot be told, nobody will say anything, and the receives are taken back.
  const bool is_told = marks.publish(list.data(), asked);
  const std::uint64_t until = is_told ? now() + kLongest : 0;
  int members = 0;
  ranks[static_cast<std::size_t>(members++)] = 0;
  for (std::size_t i = 0; i < asked; ++i) {
    if (arrives(requests[i], MPI_STATUS_IGNORE, until)) {
      ranks[static_cast<std::size_t>(members++)] = list[i].rank;
    }
  }
  for (int i = 1; i < members; ++i) {
    OMNIO_PMPI(Send, ranks.data(), members, ints(), ranks[static_cast<std::size_t>(i)], kTag,
               world);
  }
  return members > 1 ? makeCommunicator(world, ranks.data(), members) : nullptr;
}

MPI_Comm joinLeaders(MPI_Comm world) {
  constexpr std::uint64_t kLongest = 10'000 * kMs;
  if (!marks.isMeant()) return nullptr;
  Scratch<int, 16> ranks(static_cast<std::size_t>(mpi_identity.ranks));
  if (!ranks) return nullptr;
  MPI_Request answer = nullptr;
  if (OMNIO_PMPI(Irecv, ranks.data(), mpi_identity.ranks, ints(), 0, kTag, world, &answer) !=
      MPI_SUCCESS) {
    return nullptr;
  }
  OMNIO_PMPI(Send, nullptr, 0, bytes(), 0, kTag, world);
  MPI_Status status;
  int members = 0;
  if (arrives(answer, &status, now() + kLongest) &&
      OMNIO_PMPI(Get_count, &status, ints(), &members) == MPI_SUCCESS && members > 1) {
    return makeCommunicator(world, ranks.data(), members);
  }
  return nullptr;
}

}  // namespace

void markClockLeader() { marks.leave(); }

MPI_Comm gatherClockLeaders(bool mpi_is_there) {
  if (!marks.isLeft()) return nullptr;
  MPI_Comm leaders = nullptr;
  if (mpi_is_there && mpi_identity.known && mpi_identity.rank == marks.own().rank && isActive() &&
      hasContainer()) {
    auto* const world = static_cast<MPI_Comm>(mpiLibrary().world);
    const ErrorsReturn guard(world);
    leaders = marks.own().rank == 0 ? gatherLeaders(world) : joinLeaders(world);
  }
  marks.remove();
  return leaders;
}

}  // namespace omnio::trace
