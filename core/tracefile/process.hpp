// One recorded process image: its facts, its container, the rings it left, and where the chunks of
// its logs are. Knows places, not events: it stays small however long the trace is. Also whether a
// process still runs, and on which node this program does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/tracefile/container_file.hpp"
#include "core/tracefile/node_clock.hpp"
#include "core/tracefile/ring_file.hpp"
#include "core/wire/container.hpp"

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
  // The program and its arguments, as they were given.
  std::vector<std::string> command() const;
  // The time that recording an event added to it, at the least, and the part inside the recorded
  // duration (core/wire/info.hpp); 0 when the process did not measure it.
  double eventCostNs() const;
  double clockCostNs() const;

  const std::map<std::string, std::string, std::less<>>& all() const { return facts_; }

 private:
  std::map<std::string, std::string, std::less<>> facts_;
};

// The kernel's boot id: two processes with the same one ran on the same node and share its clocks.
// Empty when the kernel does not tell.
std::string thisBoot();

// Stands for a boot id in a fixed number of bytes (wire::Supervisor); 0 for the empty one.
std::uint64_t bootNumber(const std::string& boot);

// The name of this node.
std::string thisHost();

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
// The same of a process whose numbers are those of that pid namespace (0: not told, so this one's);
// nothing for one that cannot be seen from here.
std::optional<bool> isAlive(std::uint32_t pid, std::uint64_t start, std::uint64_t pid_namespace);
// That time of a process that is there, also as a zombie.
std::optional<std::uint64_t> startOf(std::uint32_t pid);

// How a process came to its end, as far as can be known from here.
enum class Life {
  kEnded,
  kReplaced,  // by exec
  kAborted,
  kKilled,
  kRunning,
  kUnknown,  // did not say that it ended, and ran on a node whose processes cannot be seen from
             // here
};

// A log of a thread: its own events, or (lane 1) those of its signal handlers.
struct Log {
  std::uint32_t number = 0;
  std::uint32_t thread = 0;
  std::uint32_t tid = 0;
  std::uint16_t omp_thread_plus_1 = 0;
  std::uint8_t lane = 0;
  std::size_t first_chunk = 0;  // in Process::chunks
  std::size_t chunk_count = 0;
};

struct Process {
  std::filesystem::path container;          // empty when it could create none
  base::File::Identity container_identity;  // the file that `chunks` are of
  std::uint64_t token = 0;
  std::uint32_t pid = 0;
  wire::ClockKind clock_kind = wire::ClockKind::kMonotonic;
  wire::Anchor begin;
  // Not there: it was cut off, damaged, or never written.
  std::optional<wire::Account> account;
  ProcessInfo info;
  Life life = Life::kUnknown;
  std::vector<RingContent> rings;
  std::vector<StoredChunk> chunks;  // by log and sequence, each once
  std::vector<Log> logs;            // by number
  std::vector<Damage> damage;
  std::shared_ptr<const NodeClock> clock;

  // "process 123 on host x", for sentences.
  std::string name() const;
};

// Opens a container: header, account, chunks, facts. The logs are not yet put in order.
base::Result<Process> openContainer(const std::filesystem::path& path);

// Adds a ring's chunks and facts.
void addRing(Process& process, RingContent ring);

// Once all rings are in: drops chunks that stand in two places, groups the rest by log, and finds
// out whether the process lives.
void settle(Process& process, const ThisNode& node);

}  // namespace omnio::tracefile
