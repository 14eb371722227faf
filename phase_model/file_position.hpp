// Where in a file a POSIX or stream call reads or writes: told by the call, or known from the calls
// before it on the same open file description. Of the processes of one rank.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/event/file_positions.hpp"
#include "core/mpi/file_offsets.hpp"
#include "core/tracefile/process.hpp"
#include "phase_model/access_reader.hpp"
#include "phase_model/byte_places.hpp"

namespace omnio::phases {

struct Place {
  bool known = false;
  std::int64_t offset = 0;
  std::uint64_t session = 0;  // see Access::session
  // Behind the last byte, of a request that goes over more than one block of a view.
  std::optional<std::int64_t> end_of_blocks{};
  BytePlaces blocks{};  // of such a request
  Manner manner{};
};

class PosixPositions {
 public:
  // The processes of the rank, the paths of their events, and the number of open instances it came
  // to so far, which MPI files count in too; all of them, and the doubts, outlive this object.
  PosixPositions(const std::vector<const tracefile::Process*>& processes, event::PathTable& paths,
                 std::uint64_t& sessions, Doubts& doubts);

  // Takes every event of the application in the order of time. Returns where a read or write began.
  Place take(const tracefile::Process& process, const event::Event& event);

  // There are no more events: adds the files whose positions count from where they stood.
  void finish() { doubts_.began_elsewhere.merge(began_elsewhere_); }

 private:
  // An open file description: the process that opened it, and its first handle there.
  using Key = std::pair<std::uint64_t, std::uint32_t>;
  struct Description {
    event::OpenFile open;
    std::shared_ptr<event::FileSize> size;  // of the file that was opened, whatever its name is now
    std::uint64_t session = 0;
    bool is_shared = false;  // by dup or fork: a close is not its end
  };

  Key keyOf(const tracefile::Process& process, const wire::HandleDefinition& handle) const;
  Description& descriptionOf(const tracefile::Process& process, const event::Handle& handle);
  void opened(const tracefile::Process& process, const event::Event& event);
  // The size of the file that has the name now.
  const std::shared_ptr<event::FileSize>& sizeOf(event::FileId name);
  void takeNames(const event::Event& event);

  event::PathTable& paths_;
  std::uint64_t& sessions_;
  std::map<std::uint64_t, const tracefile::Process*> by_token_;
  std::map<Key, Description> descriptions_;
  std::unordered_map<event::FileId, std::shared_ptr<event::FileSize>> sizes_;
  std::set<event::FileId> began_elsewhere_;
  Doubts& doubts_;
};

// Where in a file an MPI-IO call reads or writes, as the phase model speaks of it. Of one rank.
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
