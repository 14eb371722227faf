// Where the memory of rings comes from: files on node-local tmpfs, so that it outlives the process;
// plain memory where there is none.
#pragma once

#include "trace/runtime/ring/ring.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {

void chooseRingPlace();
// "memory" when the last ring could not be on tmpfs, else the directory.
const char* ringPlace();
inline constexpr std::size_t kRingPath = 320;
// "<place>/omnio-<run id>-<token>", with which this process's names there begin; empty where no
// directory was found.
Text ringStem(char (&out)[kRingPath]);
// Says for a process that has neither a container nor a ring file how many events were lost, in
// the place of rings (core/wire/notes.hpp); with `account` what is known of them. Again at each
// change.
void leaveLostNote(const wire::Account& account);
void removeLostNote();

// Lives while a ring is made or named and is not yet in the pool. The end of the process sets
// process.draining_each, which keeps new rings from getting a file, and then waits for those that
// are on their way, so that it takes all names away.
class RingBeingMade {
 public:
  RingBeingMade();
  ~RingBeingMade();
  RingBeingMade(const RingBeingMade&) = delete;
  RingBeingMade& operator=(const RingBeingMade&) = delete;

  static void awaitAll();
  // In a forked child: those of the parent's threads never end here.
  static void forgetAll();
};

// A ring with the facts of the process in its header and no owner; nullptr when memory runs out.
Ring* mapRing();
void unmapRing(Ring& ring);
// Puts memory that is never read in the ring's place, for what is still to be written there.
void replaceRing(Ring& ring);
// Takes the name of a ring's file away; its memory stays.
void removeRingFile(Ring& ring);
// Gives a ring that has no file one, without changing its place or what it holds. To be called by
// the ring's owner, with the claim on it. Does nothing when that cannot be done.
void giveRingFile(Ring& ring);

}  // namespace omnio::trace
