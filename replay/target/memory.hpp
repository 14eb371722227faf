// The tree of a replay in the memory of a node: a directory of its own on the node's tmpfs, for
// files that the application had there. Nothing else is in it, and it goes when the replay ends.
// What a replay that was killed has left there goes when the next one of the same user begins.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/base/result.hpp"

namespace omnio::replay {

inline constexpr const char* kMemoryDirectory = "/dev/shm";

// The directory of the replay with that number, and the tree in it.
std::filesystem::path memoryDirectoryOf(std::int64_t replay);
std::filesystem::path memoryTreeOf(std::int64_t replay);

// Makes it on this node, for this process, and removes those whose process is gone.
base::Result<void> makeMemoryTree(std::int64_t replay);
void removeMemoryTree(std::int64_t replay);
// Removes those of this node and user whose process is gone.
void removeLeftInMemory();

}  // namespace omnio::replay
