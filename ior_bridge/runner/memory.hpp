// How much a node can keep of files: what a test has to go beyond to measure the storage.
#pragma once

#include <cstdint>

namespace omnio::ior {

// Of this node, in bytes: what it has, or what the process's control groups (version 1 or 2) leave
// it, if that is less.
std::uint64_t memoryBytes();

}  // namespace omnio::ior
