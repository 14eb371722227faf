// The names that the tracer and the helper (prefetch/helper.hpp) share.
#pragma once

namespace omnio::wire {

// The command line of the helper, words with a tab between them; `omnio prefetch` sets it. Not set:
// nothing is prefetched.
inline constexpr const char* kPrefetchVariable = "OMNIO_PREFETCH";

// The helper is the one that has bound the abstract socket of this name, followed by the user's
// number, "-" and the run id: one for each run and user on a node. It inherits it as a descriptor.
inline constexpr const char* kPrefetchSocketPrefix = "omnio-prefetch-";
inline constexpr long kPrefetchSocket = 3;

}  // namespace omnio::wire
