// Where the accesses by shared file pointers lie (MPI-3.1, 13.4.4).
//
// Ordered ones follow from all ranks' calls: that of a rank begins behind those of the lower ranks,
// and all of them behind what was accessed before. Of the others MPI alone knows the order: they
// are where the POSIX calls lie that the library made for them below, from the first byte in the
// file to the last, if the view has such a request. What cannot be known for sure is not told.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/event/event.hpp"
#include "core/mpi/data_layout.hpp"
#include "core/tracefile/process.hpp"

namespace omnio::mpi {

// The POSIX calls that a library made for one call of the application: where they moved data. One
// object serves one thread. Its log has the calls below in front of the one they were made for,
// since that ended last.
class CallsBelow {
 public:
  void add(const event::Event& event);

  // The bytes that were moved in the file within the call, in its direction. Libraries may read or
  // write what lies between the pieces of a request too, from its first byte to its last. Nothing
  // when they are not known. Forgets what was before the call's end.
  struct Moved {
    std::int64_t begin = 0;      // of the first byte in the file
    std::int64_t end = 0;        // behind the last one
    std::vector<Stride> pieces;  // when they are just what the call moved; else empty
  };
  std::optional<Moved> within(const event::Event& event);

 private:
  struct Call {
    event::FileId file;
    calls::Class call_class;
    bool has_offset;
    std::int64_t offset;
    std::uint64_t bytes;
    std::int64_t start_ns;
    std::int64_t end_ns;
  };
  std::deque<Call> calls_;
};

struct MpiSharedPlace {
  std::optional<std::int64_t> etypes;  // of the view
  std::vector<Stride> pieces;          // of the file, found below where the view is not known
};

class MpiSharedOffsets {
 public:
  MpiSharedOffsets() = default;
  // Reads the MPI-IO of the processes that used shared pointers. They have to be all of the trace:
  // where one of a file's ranks is missing its ordered accesses are not known.
  explicit MpiSharedOffsets(const std::vector<const tracefile::Process*>& processes);

  // The place of the process's MPI event of this tick; nullptr when it is not known.
  const MpiSharedPlace* find(const tracefile::Process& process, std::uint64_t tick) const;

  // By process and tick.
  using Places = std::map<std::pair<const tracefile::Process*, std::uint64_t>, MpiSharedPlace>;

 private:
  Places places_;
};

// Whether the process said that it used shared pointers.
bool usesSharedPointers(const tracefile::ProcessInfo& info);

}  // namespace omnio::mpi
