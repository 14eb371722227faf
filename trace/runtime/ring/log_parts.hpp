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

// Leaves the pieces, for the file of that path. `error`: -errno of its open. Returns 0 or -errno:
// `error` where no `omnio trace` takes them, -EIO for what is noted already. Waits where too many
// of this process's parts have not been taken, and until the first one of a log has been; but for
// no more than some seconds, and not again soon after that.
long leavePart(wire::LogPartKind kind, const char* path, const iovec* pieces, int count,
               std::size_t bytes, std::uint64_t offset, long error);

}  // namespace omnio::trace
