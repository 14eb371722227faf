// Leaves for `omnio trace`, in parts, what this process cannot write into the trace directory
// (core/wire/log_part.hpp).
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "core/wire/log_part.hpp"

namespace omnio::trace {

// Whether an open of a file of the trace that failed so (-errno) may be got round in this way.
bool mayLeaveParts(long error);

// Leaves the pieces, `bytes` in all, for the file of that path; they stay the caller's. `error`:
// -errno of its open. Returns 0 or -errno: `error` where no `omnio trace` takes them, -EIO for what
// is noted already. Waits for `omnio trace` to take the first part of a log, and while 64 parts of
// this process are left: for 5 s at most (0.2 s where events are dropped rather than waited for).
// Once that was in vain, it does not wait for a minute.
long leavePart(wire::LogPartKind kind, const char* path, const iovec* pieces, int count,
               std::size_t bytes, std::uint64_t offset, long error);

}  // namespace omnio::trace
