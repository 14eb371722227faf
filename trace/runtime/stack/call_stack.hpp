// The call stack of each event (`omnio trace --callstack`).
//
// With each event the stack is walked, by rules that say for each return address how to get to the
// caller's (frame_walk.hpp), and found by a hash of its addresses: no lock, no system call. A place
// that is seen for the first time is looked at closely: its rule is made of the unwind table of the
// module that it lies in, and there has to be a call before it. What led to a place where there is
// none is given up.
#pragma once

#include <atomic>
#include <cstdint>

namespace omnio::trace {

struct Ring;
struct Thread;

// How many frames an event has at most; 0: stacks are not recorded.
inline constinit std::atomic<std::uint32_t> callstack_depth{0};
// And of modules that are not walked through (--callstack=auto); 0: any number.
inline constinit std::uint32_t callstack_callers = 0;
inline bool recordsStacks() { return callstack_depth.load(std::memory_order_relaxed) != 0; }

// Takes both from the settings.
void beginStacks();

// Writes what says which stack the ring's next event has: that of the call that the application
// makes right now. The ring's reserve has room for it. Returns whether it took long, since the
// stack was new.
bool putStack(Ring& ring, Thread& self);

// Makes the rules of the stack that the thread has right now known.
void learnStack(Thread& self);
// What putStack() does for an event with a known stack, for measuring what it costs.
void findStack(Thread& self);

// A library may have been unloaded, and another may be loaded in its place.
void forgetUnloadedModules();
// Writes to the log which modules the stacks lie in, as far as it does not have that yet.
// `is_last`: nothing is written later, so that other threads are waited for.
void tellModules(bool is_last);
// In a forked child: its log has to be told all modules anew. `is_in_use`: the thread is in the
// middle of a record.
void forgetStacks(bool is_in_use);
// Tells the log how many events have no stack since it could not be kept, and why stacks have one
// frame from some moment on, if they do. Unless it is the last time, what it was told before is not
// told again.
void tellLostStacks(bool is_last);

}  // namespace omnio::trace
