// The right to write a ring's chunks out, or to change which chunks it holds. Its owner takes it to
// drain the ring, whoever ends the process takes it to write the rings of all threads: without it
// the one would overwrite what the other is writing, and both would count the same events. Not
// needed to record: an event only adds to the open chunk. Signals wait meanwhile
// (held_signals.hpp), so that no handler finds a claim that its own thread has.
#pragma once

#include "trace/runtime/ring/ring.hpp"
#include "trace/runtime/sys/held_signals.hpp"
#include "trace/runtime/sys/patience.hpp"

namespace omnio::trace {

class RingClaim {
 public:
  // Goes ahead without the claim when its holder does not go on.
  explicit RingClaim(Ring& ring) : ring_(ring) {
    Patience patience;
    while (ring_.is_claimed.exchange(true, std::memory_order_acquire)) {
      if (!patience.wait()) return;
    }
    is_ours_ = true;
  }
  ~RingClaim() {
    if (is_ours_) ring_.is_claimed.store(false, std::memory_order_release);
  }
  RingClaim(const RingClaim&) = delete;
  RingClaim& operator=(const RingClaim&) = delete;

 private:
  const HeldSignals held_{};
  Ring& ring_;
  bool is_ours_ = false;
};

}  // namespace omnio::trace
