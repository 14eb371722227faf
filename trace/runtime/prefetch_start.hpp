// Starts the helper that prefetches for the job on this node, where prefetching was asked for: a
// program of its own, which reads the rings (prefetch/helper.hpp). The first traced process that
// comes here starts it; the others find that it runs.
#pragma once

namespace omnio::trace {

// Where nothing is to be recorded beyond the run, its directory is on tmpfs, and other nodes than
// that of `omnio prefetch` do not have it yet. Before the run is identified.
void makePrefetchDirectory();

// Once an image, before its first ring. The process and its children never see the helper: it is
// not a child of theirs, has a session of its own, and none of their descriptors. Does nothing
// where a filter of system calls, or the limit on processes, is in the way.
void startPrefetchHelper();

}  // namespace omnio::trace
