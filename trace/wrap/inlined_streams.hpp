// Compilers put the bodies of getc_unlocked and putc_unlocked into the program (bits/stdio.h of
// glibc). These move the pointers of the stream's buffer, and call the C library only where the
// buffer is empty or full: __uflow, __overflow, which are recorded. What was moved between is seen
// by the pointers at the next call on the stream, and at the end of the process, and recorded as an
// event of its own. In programs with such code all streams are followed, from their first call on;
// where a library has it, from the first call of __uflow or __overflow on.
//
// Else it costs a look at a flag for each call on a stream.
#pragma once

#include <stdio.h>

#include <atomic>

#include "trace/runtime/handle_table.hpp"

namespace omnio::trace {

struct Thread;

extern std::atomic<bool> has_inlined_streams;
inline bool hasInlinedStreams() { return has_inlined_streams.load(std::memory_order_relaxed); }

// Before a call on the stream.
void noteInlined(Thread& self, FILE* stream, Entry handle);
// After one, which the application or such code has made: the stream is followed from now on.
void rememberBuffer(FILE* stream);
// Before the stream is closed, recorded or not.
void forgetBuffer(FILE* stream);
// At the end of the process, or of its image.
void noteAllInlined();

}  // namespace omnio::trace
