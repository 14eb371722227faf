// The POSIX calls that a library made for one call of the application: where they moved data.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/event/event.hpp"
#include "core/mpi/strided_pieces.hpp"

namespace omnio::mpi {

// Of one thread. Its log has the calls below in front of the one they were made for, since that
// ended last.
class CallsBelow {
 public:
  void add(const event::Event& event);

  // What was moved in the file within the call, in its direction. Libraries may read or write what
  // lies between the pieces of a request too, from its first byte to its last. Nothing when that is
  // not known. Forgets what was before the call's end.
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

}  // namespace omnio::mpi
