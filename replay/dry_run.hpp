// omnio replay --dry-run: what a replay would do, with all that it would refuse before its first
// call. Nothing is made. The schedule is counted as `omnio schedule` counts it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "replay/launch.hpp"
#include "replay/overview.hpp"
#include "replay/plan/placement.hpp"
#include "replay/run/memory.hpp"

namespace omnio::replay {

// The processes that a launcher would start.
struct Launch {
  int processes = 0;      // 0: one for each recorded rank
  bool one_node = false;  // all of them on this node; else it is not known
};

struct DryRun {
  // A directory with a tree, and whether what lies there fits.
  struct Room {
    std::filesystem::path directory;
    std::string target{};  // the name of a target that has one
    bool on_node = false;  // that of --node-local
    RoomNeeded needed;
    std::optional<std::uint64_t> free;  // nothing where the file system does not tell
    std::uint64_t removed = 0;          // what an earlier replay has left, by --fresh
  };

  Request request;
  Launch launch;
  Overview overview;
  Placement placement;
  std::uint64_t prepared_files = 0;
  std::vector<Room> rooms{};
  // If all processes are on this node.
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_available = 0;

  std::uint64_t preparedBytes() const;
  // The duration with the target of the recording: in asap without think time.
  std::int64_t expectedNs() const;
};

// Fails with the sentence of the replay where that would be refused.
base::Result<DryRun> dryRun(const Request& request, Launch launch);

std::string textOf(const DryRun& dry);
std::string jsonOf(const DryRun& dry);

}  // namespace omnio::replay
