// What `omnio log --json` adds to an MPI-IO event that moves data: where in the file the data are.
// docs/commands/log.md.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/mpi/file_offsets.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::cli {

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

}  // namespace omnio::cli
