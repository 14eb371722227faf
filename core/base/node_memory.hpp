// The memory of this node.
#pragma once
#include <cstdint>

namespace omnio::base {

// In bytes, or what the process's control groups (version 1 or 2) leave it if that is less: as much
// as the page cache can keep.
std::uint64_t memoryBytes();

}  // namespace omnio::base
