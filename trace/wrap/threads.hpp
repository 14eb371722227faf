// The threads of a process: when each was created, and when one was joined. Both are lines of the
// file <host>.processes in the trace directory (core/wire/notes.hpp). They are kept in memory and
// written many at a time, so that a thread costs no system call on the trace's file system.
#pragma once

namespace omnio::trace {

// Writes out what is kept, before the process ends or becomes another program. Does nothing in the
// child of a vfork.
void writeThreadNotes();

}  // namespace omnio::trace
