// A trace directory, opened for reading. Nothing in it is ever modified.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/tracefile/host_clocks.hpp"
#include "core/tracefile/process.hpp"
#include "core/tracefile/trace_identity.hpp"
#include "core/tracefile/unlogged.hpp"
#include "core/tracefile/untraced.hpp"

namespace omnio::tracefile {

class Trace {
 public:
  // Reads the headers of all containers and of the rings that belong to them. Fails without
  // a directory, without a container, or when none can be read. A container of 0 bytes, whose
  // process could not write to it, makes a trace: of no process when it is the only one.
  static base::Result<Trace> open(const std::filesystem::path& directory);

  // The trace of a run that open() refuses as kEmpty: it did nothing that is recorded.
  static Trace empty(std::filesystem::path directory) {
    Trace trace;
    trace.directory_ = std::move(directory);
    return trace;
  }

  const std::filesystem::path& directory() const { return directory_; }

  // By rank (those without one last), then by the time they began.
  const std::vector<std::unique_ptr<Process>>& processes() const { return processes_; }

  // The clocks of the hosts, as times of events were corrected by them; in the processes' order.
  const std::vector<HostClock>& clocks() const { return clocks_; }

  // Corrects the times of all events anew. Open() corrects them by CLOCK_REALTIME alone; commands
  // open a trace by order::openWithClocks(), which knows better.
  void correctClocks(const KnownClocks& known);

  // Containers that could not be read, each with its sentence.
  const std::vector<base::Failure>& unreadable() const { return unreadable_; }

  // The sum over all processes, as the chunks say.
  std::uint64_t storedEvents() const;

  // Programs that ran without the tracer, by path.
  const std::vector<UntracedProgram>& untraced() const { return untraced_; }

  // Processes of which those who waited for them tell.
  const std::vector<EndedProcess>& ended() const { return ended_; }

  // The rank a process counts as: its own; 0 when the whole trace is of no job; else none.
  std::optional<int> rankOf(const Process& process) const;

  // Processes of a rank, or all. Fails with a sentence where the trace lacks that rank (the ranks
  // that it has are named), or where none of the processes has a thread of that number.
  base::Result<std::vector<const Process*>> processesOf(std::optional<int> rank,
                                                        std::optional<unsigned> thread = {}) const;

 private:
  void takeRings(std::vector<RingContent> rings, const TraceIdentity& identity);

  std::filesystem::path directory_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<HostClock> clocks_;
  std::vector<base::Failure> unreadable_;
  std::vector<UntracedProgram> untraced_;
  std::vector<EndedProcess> ended_;
  bool has_ranks_ = false;
};

// How many events the chunks of these processes have, as they say themselves.
std::uint64_t storedEvents(const std::vector<const Process*>& processes);

// The containers in a directory, in order; the sentence of a failure names the directory.
base::Result<std::vector<std::filesystem::path>> containersIn(
    const std::filesystem::path& directory);

// Admits as owners of rings the users that the process says it became.
void admitOwners(TraceIdentity& identity, const Process& process);

}  // namespace omnio::tracefile
