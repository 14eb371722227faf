// Where in a file an MPI-IO call reads or writes, as the phase model speaks of it. Of one rank.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "core/mpi/file_offsets.hpp"
#include "core/tracefile/process.hpp"
#include "phase_model/access.hpp"

namespace omnio::phases {

class MpiPositions {
 public:
  struct Placed {
    bool known = true;
    std::int64_t offset = 0;
    bool several_blocks = false;  // the request goes over more than one block of the view
    std::uint64_t session = 0;    // see Access::session
    Manner manner;
  };

  // `sessions` as of PosixPositions.
  MpiPositions(std::uint64_t& sessions, const mpi::MpiSharedOffsets& shared)
      : sessions_(sessions), shared_(shared) {}

  // Of every event below the application's own, in the order of its log.
  void takeBelow(const tracefile::Process& process, const event::Event& event) {
    of(process).takeBelow(event);
  }
  // Of every MPI file event of the application, in order; what it returns counts when the event
  // reads or writes.
  Placed take(const tracefile::Process& process, const event::Event& event);

 private:
  mpi::MpiFileOffsets& of(const tracefile::Process& process);
  std::uint64_t sessionOf(const tracefile::Process& process, std::uint64_t in_process);

  std::uint64_t& sessions_;
  const mpi::MpiSharedOffsets& shared_;
  std::map<const tracefile::Process*, std::unique_ptr<mpi::MpiFileOffsets>> offsets_;
  std::map<std::pair<const tracefile::Process*, std::uint64_t>, std::uint64_t> numbers_;
};

}  // namespace omnio::phases
