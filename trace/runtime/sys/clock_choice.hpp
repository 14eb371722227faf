// Which clock the records of this process carry.
#pragma once

#include "core/wire/clock.hpp"

namespace omnio::trace {

// The processor's counter where it is invariant and the kernel has not found it wanting (counters
// of several sockets that differ, or stop), else the system's monotonic clock.
wire::ClockKind chooseClock();

}  // namespace omnio::trace
