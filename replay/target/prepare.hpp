// What is there before the replay begins: directories, and the files that the application found, in
// full size and with real content. Done by system calls that no tracer sees.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/result.hpp"
#include "replay/plan/plan.hpp"
#include "replay/target/tree.hpp"

namespace omnio::replay {

enum class Cache : std::uint8_t {
  kCold,  // written back and dropped from this node's page cache
  kWarm,  // read once after they were made
  kAsIs,  // as making them left it
};

struct Prepared {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

// This process's share of the work: files, and pieces of large ones, go round over `processes`.
struct Share {
  int process = 0;
  int processes = 1;
};

// Whether what is to be made fits on the target's file system.
std::optional<base::Failure> checkSpace(const Plan& plan, const Tree& tree);
// All directories; one process does it, before any prepareFiles().
std::optional<base::Failure> prepareDirectories(const Plan& plan, const Tree& tree);
base::Result<Prepared> prepareFiles(const Plan& plan, const Tree& tree, Share share, Cache cache);

}  // namespace omnio::replay
