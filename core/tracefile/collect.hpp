// Brings what killed processes left in their rings into the trace directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/tracefile/trace_identity.hpp"

namespace omnio::tracefile {

struct CollectReport {
  std::uint64_t processes = 0;        // dead ones that had rings
  std::uint64_t rings = 0;            // emptied and removed
  std::uint64_t events = 0;           // brought into containers
  std::uint64_t running = 0;          // processes whose rings were left alone
  std::uint64_t of_others = 0;        // rings that name this run, of users who may not write it
  std::vector<std::string> troubles;  // one sentence each; the rings concerned are left as they are
};

// Collects the rings of this node that belong to the trace and whose process is gone: appends their
// chunks to its container, brings its account up to date, removes the rings. Does nothing where
// there is nothing to do; may run twice, and twice at once.
CollectReport collectRings(const std::filesystem::path& trace);

struct DeadRings {
  // Rings of the trace whose process is gone, and unfinished rings that no process has open.
  std::vector<std::filesystem::path> rings;
  // Rings that name this run and are of users who may not write it, as far as is known without a
  // look at the containers; also of processes that run.
  std::uint64_t of_others = 0;
};
// Looks in the usual places. Costs nothing that grows with the number of containers.
DeadRings deadRingsOf(const TraceIdentity& trace);

// Rings of runs that are over: neither a process of theirs nor their `omnio trace` is left on this
// node.
struct Orphans {
  // The rings of one run and directory.
  struct Group {
    std::filesystem::path directory;  // as the run knew it
    bool is_there = false;            // and it still is that directory
    bool is_gone = false;             // nothing, or another directory, has its name now
    std::uint64_t processes = 0;
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;
    std::vector<std::filesystem::path> rings;
  };
  std::vector<Group> groups;
  std::vector<std::filesystem::path> unfinished;  // without a header, and no process has them open
  std::uint64_t running = 0;                      // rings of this user whose run is not over
  std::uint64_t of_others = 0;                    // rings of other users
};
// Looks at the rings of the calling user only, and changes nothing.
Orphans findOrphans();

}  // namespace omnio::tracefile
