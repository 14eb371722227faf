// Files in the memory of a node: those below /dev/shm, the tmpfs that Linux has for shared memory.
// They are no I/O on storage: a replay has them in the memory of its own nodes, and estimates leave
// them out. Not where the run itself began there: then it is what the run has for storage.
#pragma once

#include <string_view>

namespace omnio::event {

// How the path of the directory begins that a replay has for them on a node.
inline constexpr std::string_view kReplayMemoryPrefix = "/dev/shm/replay-omnio-";

inline constexpr std::string_view kMemoryDirectories[] = {"/dev/shm", "/run/shm"};

constexpr bool isBelowOrAt(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

// Whether an absolute path is that of a file in memory, for a run that began in `run_directory`.
constexpr bool isInMemory(std::string_view path, std::string_view run_directory) {
  for (const std::string_view memory : kMemoryDirectories) {
    if (isBelowOrAt(path, memory)) return !isBelowOrAt(run_directory, memory);
  }
  return false;
}

}  // namespace omnio::event
