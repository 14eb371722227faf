// Which MPI requests are of I/O: the call that finds such a request complete is a call of MPI-IO,
// for the transfer may take place in it (MPI-3.1, section 13.4.1). Of one thread, whose events come
// in order.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "core/event/event.hpp"

namespace omnio::event {

class IoRequests {
 public:
  // Takes in any event of the application's own (depth 0). Returns whether it belongs to
  // MPI-IO: it is a call of MPI-IO, or it found requests complete that such a call had begun.
  bool take(const Event& event);

  // Takes in any event below the application's own.
  void takeBelow(const Event& event);
  // Whether an event of depth 0 is the end of an asynchronous operation of the C library that was
  // begun below a call of MPI-IO: OMPIO's, which asks for it in MPI_Wait. Once for each. With
  // takeBelow alone, an object may serve all threads of a process.
  bool endsBelow(const Event& event);

  // The requests of MPI-IO that the last event found complete, by their numbers in the process.
  const std::vector<std::uint64_t>& done() const { return done_; }
  // Whether that event found others complete too.
  bool hasOthers() const { return has_others_; }

 private:
  std::unordered_set<std::uint64_t> open_;
  std::unordered_set<std::uint64_t> begun_below_;  // numbers of the C library's operations
  std::vector<std::uint64_t> done_;
  bool has_others_ = false;
};

}  // namespace omnio::event
