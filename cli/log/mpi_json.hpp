// The JSON form of matched MPI events, docs/commands/log.md ("--mpi").
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "cli/log/mpi_listing.hpp"
#include "core/event/event.hpp"
#include "core/mpi/file_offsets.hpp"
#include "core/order/matched_events.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::cli {

// What `omnio log --json` adds to an MPI-IO event that moves data: where in the file the data are.
// docs/commands/log.md.
class MpiIoJson {
 public:
  // Reads the calls by shared pointers of the whole trace, which has to outlive it.
  explicit MpiIoJson(const tracefile::Trace& trace);

  // Takes in an event of the process, in the order of its thread; appends what there is to say of
  // it as members of its object, each with a comma in front.
  void append(std::string& out, const tracefile::Process& process, const event::Event& event);

 private:
  // An access as its place was known when it was made.
  struct Known {
    mpi::MpiFileOffsets::Placed placed;
    mpi::MpiFileState file;
  };
  struct InProcess {
    explicit InProcess(const tracefile::ProcessInfo& info) : offsets(info) {}
    mpi::MpiFileOffsets offsets;
    // Pointers that several threads move have to be followed through all of them before one is
    // printed: by tick. Empty where one thread alone does MPI-IO.
    std::unordered_map<std::uint64_t, Known> known;
  };
  InProcess& in(const tracefile::Process& process);
  void appendAccess(std::string& out, const tracefile::Process& process, const event::Event& event,
                    const mpi::MpiFileOffsets::Placed& placed);

  mpi::MpiSharedOffsets shared_;
  std::map<const tracefile::Process*, std::unique_ptr<InProcess>> processes_;
};

// Adds to an object that is open what is known of an event when it is seen.
void appendMpiJsonSeen(std::string& out, const event::Event& event, const order::MpiEventRef& ref,
                       const MpiNames& names);
// Adds what is known when it is settled, and ends the object and the line.
void appendMpiJsonSettled(std::string& out, const order::MatchedEvent& event,
                          const MpiNames& names);

// The line at the end. `behind` is how many events stand behind such as began later.
void appendMpiJsonSummary(std::string& out, const order::MpiPictureEnd& end, std::uint64_t behind);

}  // namespace omnio::cli
