// Which run this process belongs to, as its rings say it (core/wire/run.hpp).
#pragma once

#include <cstdint>

#include "core/wire/run.hpp"

namespace omnio::trace {

struct RunIdentity {
  wire::Run run;
  std::uint64_t directory_device = 0;  // of the trace directory; 0 and 0: it cannot be seen
  std::uint64_t directory_inode = 0;
  std::uint64_t pid_namespace = 0;  // inode of this process's; 0: not known
};

// Finds it out from the environment and the trace directory, when the tracer starts.
void identifyRun();
const RunIdentity& runIdentity();

}  // namespace omnio::trace
