// The facts a process records about itself (core/wire/info.hpp), as typed values.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace omnio::tracefile {

class ProcessInfo {
 public:
  // Takes in the payload of an info chunk: key, NUL, value, NUL, ... A later value replaces an
  // earlier one; what is not whole at the end is left out.
  void take(std::string_view payload);

  // Empty when the process did not record it.
  const std::string& text(std::string_view key) const;
  std::optional<std::uint64_t> number(std::string_view key) const;

  // The rank, when a launcher or MPI told it; a process outside of any job has none.
  std::optional<int> rank() const;
  // Size of the job: 1 without a launcher.
  int ranks() const;
  // What recording an event added to it, at the least, and the part of that inside the recorded
  // duration (core/wire/info.hpp); 0 when the process did not measure it.
  double eventCostNs() const;
  double clockCostNs() const;

  const std::map<std::string, std::string, std::less<>>& all() const { return facts_; }

 private:
  std::map<std::string, std::string, std::less<>> facts_;
};

// Whether a recorded process still runs, and on which node this program does.
// The kernel's boot id: two processes with the same one ran on the same node and share its clocks.
// Empty when the kernel does not tell.
std::string thisBoot();

// Stands for a boot id in a fixed number of bytes (wire::Supervisor); 0 for the empty one.
std::uint64_t bootNumber(const std::string& boot);

// The kernel's name for the numbering of processes that holds here ("pid:[4026531836]"). A process
// of another one, in a container say, cannot be told from a dead one. Empty when the kernel does
// not tell.
std::string thisPidNamespace();
// The number in that name, which is the inode of /proc/self/ns/pid; 0 when it is not known.
std::uint64_t pidNamespaceNumber();

// Where this program runs: which recorded processes it can see.
struct ThisNode {
  std::string boot = thisBoot();
  std::string pids = thisPidNamespace();

  // Whether a process of that boot and namespace ("" of older traces: not told) can be seen.
  bool sees(const std::string& its_boot, const std::string& its_pids) const {
    return !its_boot.empty() && its_boot == boot && (its_pids.empty() || its_pids == pids);
  }
};

// True when the process with this number that started at `start` (clock ticks since boot, as in
// field 22 of /proc/<pid>/stat) runs on this node. A zombie does not run, unless one of its
// other threads does.
bool isAlive(std::uint32_t pid, std::uint64_t start);
// That time of a process that is there, also as a zombie.
std::optional<std::uint64_t> startOf(std::uint32_t pid);

}  // namespace omnio::tracefile
