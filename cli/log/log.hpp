// The forms of `omnio log` beside the text of an event: docs/commands/log.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "cli/commands/commands.hpp"
#include "core/base/json_writer.hpp"
#include "core/event/event.hpp"
#include "core/mpi/file_offsets.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::cli {

// The thread that an event is from.
struct EventOrigin {
  std::optional<int> rank;
  std::uint32_t thread = 0;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
};

// The JSON form: writes the event's members into the object that is open.
void putEvent(base::JsonWriter& json, const event::Event& event, const EventOrigin& origin,
              const event::PathTable& paths);

// The same of its call stack, where it has one.
void putStack(base::JsonWriter& json, const event::Event& event);

// Adds to an MPI-IO event that moves data where in the file the data are (`omnio log --json`).
// docs/commands/log.md.
class MpiIoJson {
 public:
  // Reads the calls by shared pointers of the whole trace, which has to outlive it.
  explicit MpiIoJson(const tracefile::Trace& trace);

  // Takes in an event of the process, in the order of its thread; writes what there is to say of it
  // as members of its object, which is open.
  void put(base::JsonWriter& json, const tracefile::Process& process, const event::Event& event);

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
  void putAccess(base::JsonWriter& json, const tracefile::Process& process,
                 const event::Event& event, const mpi::MpiFileOffsets::Placed& placed);

  mpi::MpiSharedOffsets shared_;
  std::map<const tracefile::Process*, std::unique_ptr<InProcess>> processes_;
};

// omnio log --mpi: the matched picture of a trace, one MPI event a line, by the time they began.
// Returns the exit status. The selection's rank and thread say what is printed, not what is read.
int printMpiLog(const tracefile::Trace& trace, const TraceSelection& selection, bool json);

}  // namespace omnio::cli
