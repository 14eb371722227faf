// Brings what killed processes left in their rings into the trace directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace omnio {

struct CollectReport {
  std::uint64_t processes = 0;        // dead ones that had rings
  std::uint64_t rings = 0;            // emptied and removed
  std::uint64_t events = 0;           // brought into containers
  std::uint64_t running = 0;          // processes whose rings were left alone
  std::vector<std::string> troubles;  // one sentence each; the rings concerned are left as they are
};

// Collects the rings of this node that belong to the trace and whose process is gone: appends their
// chunks to its container, brings its account up to date, removes the rings. Does nothing where
// there is nothing to do; may run twice, and twice at once.
CollectReport collectRings(const std::filesystem::path& trace);

// Rings in the usual places that were recorded for this directory, which need not exist any more,
// and whose process is gone. Costs nothing that grows with the number of containers.
std::vector<std::filesystem::path> deadRingsOf(const std::filesystem::path& trace);

}  // namespace omnio
