// Asks `omnio trace` for a file of the trace that this process cannot open
// (core/wire/log_request.hpp).
#pragma once

#include "core/wire/log_request.hpp"

namespace omnio::trace {

// `path`: of the file. `error`: -errno of the open that failed. Returns a descriptor, or -errno:
// `error` where `omnio trace` cannot be asked, or another open would fail in the same way. Waits
// for the answer, but for no more than some seconds, and not again soon after that.
long requestLog(wire::LogRequestKind kind, const char* path, long error);

}  // namespace omnio::trace
