// Reads what a rank did from its logs, as accesses: which bytes of which file, in the order of
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/mpi/shared_offsets.hpp"
#include "core/tracefile/trace.hpp"
#include "phase_model/access.hpp"

namespace omnio::phases {

// What the trace does not tell well enough for a model, counted over all ranks.
struct Doubts {
  std::uint64_t unknown_bytes = 0;   // reads whose bytes are not told (fscanf)
  std::uint64_t unknown_offset = 0;  // accesses by shared pointers, or at an end not recorded
  std::uint64_t several_blocks = 0;  // accesses over more than one block of a view
  std::uint64_t never_ended = 0;     // see AccessQueue
  std::uint64_t ended_too_late = 0;
  std::uint64_t no_storage = 0;             // accesses of devices, directories and the like
  std::set<event::FileId> began_elsewhere;  // see PositionDoubts
  std::set<event::FileId> appended;
};

// One sentence each.
std::vector<std::string> sentencesOf(const Doubts& doubts, const event::PathTable& paths);

struct ReadRank {
  bool any_event = false;
  std::int64_t first_event_ns = 0;
  std::uint64_t undecodable = 0;
};

// Passes on each access of the processes, which are those of one rank, as of `rank`. Only the
// application's own calls count: what MPI-IO does through POSIX is part of the MPI call.
// `shared` is of all ranks.
ReadRank readAccesses(const std::vector<const tracefile::Process*>& processes, int rank,
                      const mpi::MpiSharedOffsets& shared, event::PathTable& paths, Doubts& doubts,
                      const std::function<void(const Access&)>& take);

}  // namespace omnio::phases
