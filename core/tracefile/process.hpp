// One recorded process image: its container, the rings it left, and where the chunks of its logs
// are. Knows places, not events: it stays small however long the trace is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/tracefile/chunk_scan.hpp"
#include "core/tracefile/node_clock.hpp"
#include "core/tracefile/process_info.hpp"
#include "core/tracefile/ring_file.hpp"
#include "core/wire/container.hpp"

namespace omnio::tracefile {

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

// The fixed start of a container alone.
struct ContainerStart {
  wire::ContainerHeader header;
  std::optional<wire::Account> account;
};
base::Result<ContainerStart> readContainerStart(const std::filesystem::path& path,
                                                const base::File& file);

// Adds a ring's chunks and facts.
void addRing(Process& process, RingContent ring);

// Once all rings are in: drops chunks that stand in two places, groups the rest by log, and finds
// out whether the process lives.
void settle(Process& process, const ThisNode& node);

}  // namespace omnio::tracefile
