// Where the memory of rings comes from: files on node-local tmpfs, so that it outlives the process;
// plain memory where there is none.
#pragma once

#include "trace/runtime/ring.hpp"

namespace omnio::trace {

void chooseRingPlace();
// "memory" when the last ring could not be on tmpfs, else the directory.
const char* ringPlace();

// A ring with the facts of the process in its header and no owner; nullptr when there is no memory.
Ring* mapRing();
void unmapRing(Ring& ring);
// Puts memory that nobody looks at in the ring's place, for what is still to be written there.
void replaceRing(Ring& ring);
// Takes the name of a ring's file away; its memory stays.
void removeRingFile(Ring& ring);
// Gives a ring that has no file one, without changing its place or what it holds. To be called by
// the ring's owner, with the claim on it. Does nothing when that cannot be done.
void giveRingFile(Ring& ring);

}  // namespace omnio::trace
