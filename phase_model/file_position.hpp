// Where in a file a call reads or writes, as the phase model speaks of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/mpi/file_offsets.hpp"
#include "core/tracefile/posix_offsets.hpp"
#include "core/tracefile/process.hpp"
#include "phase_model/access_reader.hpp"
#include "phase_model/byte_places.hpp"

namespace omnio::phases {

struct Place {
  bool known = false;
  std::int64_t offset = 0;
  std::optional<std::int64_t> in_view{};  // see Access::in_view
  std::uint64_t session = 0;              // see Access::session
  // Behind the last byte, of a request that goes over more than one block of a view.
  std::optional<std::int64_t> end_of_blocks{};
  BytePlaces blocks{};  // of such a request
  Manner manner{};
};

// Where POSIX and stream calls of the processes of one rank read or write.
class PosixPositions {
 public:
  // As PosixOffsets; the doubts outlive this object, too.
  PosixPositions(const std::vector<const tracefile::Process*>& processes, event::PathTable& paths,
                 std::uint64_t& sessions, Doubts& doubts)
      : offsets_(processes, paths, sessions), doubts_(doubts) {}

  // Takes every event of the application in the order of time. Returns where a read or write began.
  Place take(const tracefile::Process& process, const event::Event& event);

  // There are no more events: adds the files whose positions count from where they stood.
  void finish() {
    const std::set<event::FileId>& began = offsets_.beganElsewhere();
    doubts_.began_elsewhere.insert(began.begin(), began.end());
  }

 private:
  tracefile::PosixOffsets offsets_;
  Doubts& doubts_;
};

// Where MPI-IO calls of one rank read or write.
class MpiPositions {
 public:
  // `sessions` as of PosixPositions.
  MpiPositions(std::uint64_t& sessions, const mpi::MpiSharedOffsets& shared)
      : sessions_(sessions), shared_(shared) {}

  // Takes every event below the application's own, in the order of its log.
  void takeBelow(const tracefile::Process& process, const event::Event& event) {
    of(process).takeBelow(event);
  }
  // Takes every MPI file event of the application, in order. The place counts when the event
  // reads or writes.
  Place take(const tracefile::Process& process, const event::Event& event);

 private:
  mpi::MpiFileOffsets& of(const tracefile::Process& process);
  std::uint64_t sessionOf(const tracefile::Process& process, std::uint64_t in_process);

  std::uint64_t& sessions_;
  const mpi::MpiSharedOffsets& shared_;
  std::map<const tracefile::Process*, std::unique_ptr<mpi::MpiFileOffsets>> offsets_;
  std::map<std::pair<const tracefile::Process*, std::uint64_t>, std::uint64_t> numbers_;
};

}  // namespace omnio::phases
