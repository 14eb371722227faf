// The memory of this node, in bytes.
#pragma once
#include <cstdint>

namespace omnio::base {

// All of it, or what the process's control groups (version 1 or 2) may have if that is less: as
// much as the page cache can keep.
std::uint64_t memoryBytes();

// As much as this process can still have: what is free, and what the kernel gives up of the page
// cache, on the node or in the control groups, whichever is less. UINT64_MAX when the kernel does
// not say.
std::uint64_t availableMemoryBytes();

}  // namespace omnio::base
