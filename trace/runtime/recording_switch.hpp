// Recording stopped and started again: by the application (trace/api/omnio.h), by a signal, or
// stopped from the beginning. It is a flag of the process, not a count: two stops in a row are one.
// A replayer stops it while it works on its own account.
//
// Nothing is recorded while it is stopped, but everything is followed on: which descriptor is which
// file, and where relative paths begin. Recording costs nothing more for it: the flag is a bit of
// the epoch that each record is compared with, and a thread that finds another epoch goes the slow
// way.
#pragma once

#include <cstddef>

namespace omnio::trace {

// From any thread, or a signal handler. No effect where nothing is traced, and in a vfork child,
// whose memory is its parent's.
void setRecording(bool on);
bool isRecording();

// While the process does work of its own (wire::kOwnWorkBegins), nothing is recorded either. No
// fact tells of it: the trace of a replay lacks no call of the schedule. As setRecording() for
// threads.
void setOwnWork(bool on);

// From the signal, if there is one and the application has no handler for it.
void listenForToggle();

// A process that does I/O while it is stopped has a log like any other, which tells of it.
void reportStopped();
// At the beginning of an image: as the settings say; of a forked child: as its parent's was.
void beginStops(bool stopped);
// Brings the facts up to date where stops were too many for each to be written.
void finishStops();

// The facts (core/wire/info.hpp) of all stops so far, "key\0value\0..."; returns the bytes used.
std::size_t describeStops(char* out, std::size_t bytes);

}  // namespace omnio::trace
