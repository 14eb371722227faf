// Reads what a rank did from its logs, as accesses: which bytes of which file, in the order of
// time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/event/event.hpp"
#include "core/model/phase_model.hpp"
#include "core/mpi/shared_offsets.hpp"
#include "core/tracefile/file_names.hpp"
#include "core/tracefile/trace.hpp"
#include "phase_model/byte_places.hpp"

namespace omnio::phases {

using model::Manner;

// One read or write of the application, as the phase model sees it: what was moved where, by which
// process, and between which other events.
struct Access {
  int rank = 0;
  std::uint32_t thread = 0;  // told apart within the rank; numbers mean nothing else
  event::FileId file{0};
  model::Operation operation = model::Operation::kWrite;
  Manner manner;
  bool offset_known = true;
  std::int64_t offset = 0;                   // bytes from the file's start
  std::uint64_t bytes = 0;                   // moved; never 0
  std::optional<std::int64_t> in_view = {};  // offset in etypes; where a view is set
  // Behind the last byte, where the bytes are in more than one block.
  std::optional<std::int64_t> end_of_blocks = {};
  BytePlaces blocks = {};    // of these
  std::uint64_t tick = 0;    // MPI events of the process before it; 0 where they are not told
  std::uint64_t others = 0;  // of these, the ones that are no file operation
  // The open instance it went through, numbered in the order in which the rank came to them.
  std::uint64_t session = 0;
  std::uint64_t step = 0;  // of its thread (phase_model/step_phases.hpp)
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// Counts over all ranks of what the trace does not tell well enough for a model.
struct Doubts {
  std::uint64_t unknown_bytes = 0;   // reads whose bytes are not told (fscanf)
  std::uint64_t at_least = 0;        // reads of so many bytes or more (fgets)
  std::uint64_t unknown_offset = 0;  // accesses by shared pointers, or at an end not recorded
  std::uint64_t several_blocks = 0;  // accesses over more than one block of a view
  std::uint64_t never_ended = 0;     // reads whose end is missing: nothing was got
  std::uint64_t ended_too_late = 0;  // see kMostHeld
  std::uint64_t no_storage = 0;      // accesses of devices, directories and the like
  // Files that were open before the recording began, at a position not recorded.
  std::set<event::FileId> began_elsewhere;
  std::set<event::FileId> appended;  // behind an end that was not recorded
};

// Accesses that are held back behind a read whose bytes are not known yet; of more, the oldest
// counts with what it asked for.
inline constexpr std::size_t kMostHeld = std::size_t{1} << 16;

// One sentence each.
std::vector<std::string> sentencesOf(const Doubts& doubts, const event::PathTable& paths);

struct ReadRank {
  bool any_event = false;
  std::int64_t first_event_ns = 0;
  std::uint64_t undecodable = 0;
  // By Access::thread: the process, by place in those that were read, and the thread of its log.
  std::vector<std::pair<std::size_t, std::uint32_t>> threads;
};

// Passes on each access of the processes, which are those of one rank, as of `rank`. Only the
// application's own calls count: what MPI-IO does through POSIX is part of the MPI call.
// `shared` is of all ranks, `names` takes every event.
ReadRank readAccesses(const std::vector<const tracefile::Process*>& processes, int rank,
                      const mpi::MpiSharedOffsets& shared, event::PathTable& paths,
                      tracefile::FileNames& names, Doubts& doubts,
                      const std::function<void(const Access&)>& take);

}  // namespace omnio::phases
