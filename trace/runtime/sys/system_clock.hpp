// The system's clocks as the kernel offers them to every process, past the C library's function,
// which another preloaded library may have replaced by one that lies (libfaketime).
#pragma once
#include "core/wire/clock.hpp"

namespace omnio::trace {

// From now on wire::systemNs() reads them so, where the kernel has its function in the usual place.
// Done before the first reading.
void useKernelClocks();

// Chooses the clock of this process's records: the processor's counter where it is invariant and
// the kernel has not found it wanting (counters of several sockets that differ, or stop), else the
// system's monotonic clock.
wire::ClockKind chooseClock();

}  // namespace omnio::trace
