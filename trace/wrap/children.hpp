// The children of a process: when each was started, and which one had ended when a wait returned;
// and its threads, which threads.cpp notes. All are lines of the file <host>.processes in the trace
// directory (core/wire/notes.hpp), also of shells and launchers, which are not traced: a shell
// decides which command follows which.
//
// A line costs three system calls, where a start or an end costs hundreds of times as much. Nothing
// here allocates, locks or changes errno.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/wire/notes.hpp"

namespace omnio::trace {

// Whether a note can say whose it is: a filter of system calls may forbid it.
bool mayNote();
// The process has begun. Not before the filters that it has inherited are known, which may punish
// each call.
void beginChildNotes();
// The time that notes have: CLOCK_MONOTONIC, in ns; 0 where nothing is noted.
std::uint64_t noteTime();
// The calling thread did `kind` between `begin_ns` (0: nothing is noted) and now. `child` is 0 when
// the C library does not say which one it was.
void noteChild(wire::ChildNote kind, std::uint32_t child, std::uint64_t begin_ns);
// Puts the line of a thread's note together; returns its bytes.
std::size_t putChildNote(char (&line)[wire::kMaxChildNote], wire::ChildNote kind, std::uint32_t pid,
                         std::uint32_t tid, std::uint64_t thread, std::uint64_t begin_ns);
// The process ends as it should. Says what it moved, where it leaves no log.
void noteQuietEnd();
// Before exec, in the child of a vfork, which no wrapper has seen begin.
void noteUnseenStart();
// Writes out the notes of threads that are kept, before the process ends or becomes another
// program. Does nothing in the child of a vfork.
void writeThreadNotes();

}  // namespace omnio::trace
