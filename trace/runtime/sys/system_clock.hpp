// The system's clocks as the kernel offers them to every process, past the C library's function,
// which another preloaded library may have replaced by one that lies (libfaketime).
#pragma once

namespace omnio::trace {

// From now on wire::systemNs() reads them so, where the kernel has its function in the usual place.
// Done before the first reading.
void useKernelClocks();

}  // namespace omnio::trace
