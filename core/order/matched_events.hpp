// The matched picture (core/order/matched_event.hpp) of a whole trace: the MPI events of all ranks,
// merged by time.
#pragma once
#include <cstdint>
#include <vector>

#include "core/event/event.hpp"
#include "core/mpi/groups.hpp"
#include "core/order/matched_event.hpp"
#include "core/order/matcher.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::order {

struct MpiPictureEnd {
  MpiCounts counts;
  std::uint64_t missing = 0;                  // events of all kinds that are missing
  std::uint64_t undecodable = 0;              // of these, such as only show while reading
  std::vector<std::uint64_t> undecodable_of;  // the same, by process
};

// The groups that the processes of a trace told of.
mpi::MpiGroups mpiGroupsOf(const tracefile::Trace& trace);

// Whether reading counts as progress (core/base/progress.hpp), in a stage of its own. A pass beside
// another one has none.
enum class PictureProgress : std::uint8_t { kStage, kNone };

// Reads all of it. `groups` is that of the trace; `paths` gets the files of the events.
MpiPictureEnd readMpiPicture(const tracefile::Trace& trace, const mpi::MpiGroups& groups,
                             event::PathTable& paths, MpiPictureSink& sink,
                             MpiMatcher::Limits limits = {},
                             PictureProgress progress = PictureProgress::kStage);

}  // namespace omnio::order
