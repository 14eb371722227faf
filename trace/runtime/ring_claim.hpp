// The right to write a ring's chunks out, or to change which chunks it holds. Its owner takes it to
// drain the ring, whoever ends the process takes it to write the rings of all threads: without it
// the one would overwrite what the other is writing, and both would count the same events. Not
// needed to record: an event only adds to the open chunk.
#pragma once

#include "trace/runtime/patience.hpp"
#include "trace/runtime/ring.hpp"

namespace omnio::trace {

class RingClaim {
 public:
  // Goes ahead without the claim when the thread has it already (the end of the process in a signal
  // handler that came in the middle of a drain), and when its holder does not go on.
  RingClaim(Ring& ring, std::uint32_t tid) : ring_(ring) {
    Patience patience;
    std::uint32_t holder = 0;
    while (!ring_.writer.compare_exchange_strong(holder, tid, std::memory_order_acquire)) {
      if (holder == tid || !patience.wait()) return;
      holder = 0;
    }
    held_ = true;
  }
  ~RingClaim() {
    if (held_) ring_.writer.store(0, std::memory_order_release);
  }
  RingClaim(const RingClaim&) = delete;
  RingClaim& operator=(const RingClaim&) = delete;

 private:
  Ring& ring_;
  bool held_ = false;
};

}  // namespace omnio::trace
