// The matched picture (core/order/matched_event.hpp) of a whole trace: the MPI events of all ranks,
// merged by time.
#pragma once
#include <cstdint>
#include <string>

#include "core/event/path_table.hpp"
#include "core/mpi/groups.hpp"
#include "core/order/matched_event.hpp"
#include "core/order/matcher.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::order {

// The MPI events of one log that are the application's own. The records "(completed)" and
// "(begun)", which hold what had no room in the record before them, are put back into it.
class MpiLogSource {
 public:
  // As LogReader.
  MpiLogSource(const tracefile::Process& process, const tracefile::Log& log,
               event::PathTable& paths)
      : reader_(process, log, paths) {}

  // The next event, or nullptr at the end. It is valid until the next call.
  const event::Event* next();
  std::uint64_t missing() const { return missing_; }  // so far
  std::uint64_t undecodable() const { return reader_.undecodable(); }

 private:
  const event::Event* pull();

  tracefile::LogReader reader_;
  event::Event joined_;
  std::string pieces_;
  const event::Event* ahead_ = nullptr;  // read, not handed out
  std::uint64_t missing_ = 0;
  bool is_behind_gap_ = false;  // events are missing before the one that was pulled last
};

struct MpiPictureEnd {
  MpiCounts counts;
  std::uint64_t missing = 0;      // events of all kinds that are missing
  std::uint64_t undecodable = 0;  // of these, such as only show while reading
};

// The groups that the processes of a trace told of.
mpi::MpiGroups mpiGroupsOf(const tracefile::Trace& trace);

// Reads all of it. `groups` is that of the trace; `paths` gets the files of the events.
MpiPictureEnd readMpiPicture(const tracefile::Trace& trace, const mpi::MpiGroups& groups,
                             event::PathTable& paths, MpiPictureSink& sink,
                             MpiMatcher::Limits limits = {});

}  // namespace omnio::order
