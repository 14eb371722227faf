// A process that runs: its threads' operations as they come, from the memory that it records into.
//
// Calls that MPI-IO makes count as the application's own, since the call around them is recorded
// when it is over. Reads through mappings have no event at the time, so they are not seen.
//
// Memory: each ring's mapping and open chunk, the paths of its files (begun anew when there are
// very many), and the files that are open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/event/event.hpp"
#include "core/tracefile/posix_offsets.hpp"
#include "core/tracefile/process.hpp"
#include "predict/operations/operation.hpp"
#include "predict/operations/operation_maker.hpp"
#include "prefetch/job_descriptor.hpp"
#include "prefetch/live_clock.hpp"
#include "prefetch/live_log.hpp"

namespace omnio::prefetch {

class LiveProcess {
 public:
  // Of the process that the ring belongs to.
  LiveProcess(const RingMemory& ring, LiveClock& clock);
  LiveProcess(const LiveProcess&) = delete;
  LiveProcess& operator=(const LiveProcess&) = delete;

  std::uint32_t pid() const { return process_.pid; }
  std::uint64_t token() const { return process_.token; }
  bool isAlive() const { return tracefile::isAlive(process_.pid, start_); }

  // A ring of the process; one that it has already is left alone.
  void add(RingMemory ring);

  // An operation, the descriptor that it was made by, and how that was opened.
  struct Seen {
    std::uint32_t thread = 0;
    const predict::Operation& operation;
    JobDescriptor opener;
    unsigned open_flags = 0;
  };
  // Has `take` see what was recorded since, in the order of time, as far as the threads' logs that
  // have more are looked at now. Returns how many events there were. `now_ns`: CLOCK_MONOTONIC.
  std::size_t poll(std::int64_t now_ns, const std::function<void(const Seen&)>& take);
  // When it is to be looked at again.
  std::int64_t due_ns() const { return due_ns_; }
  // The thread's next operation is expected to begin `until_ns` after `end_ns`; its log is to be
  // looked at when one is over that is expected `due_in_ns` after it, or when it is as much sooner
  // as the thread has been of late.
  void expect(std::uint32_t thread, std::int64_t end_ns, double until_ns, double due_in_ns);

  // It is not looked at before that time, come what may.
  void rest(std::int64_t until_ns);
  // It is over: what is left is to be read by the next poll().
  void finish();

  std::uint64_t lost() const;  // events that were overwritten before they were read
  // The descriptor by which the file was used last; nullptr where the file is not known. Valid
  // until the next poll().
  const JobDescriptor* openerOf(event::FileId file) const;

  // What the process tells of itself in its log, which is in that directory; nothing where it is
  // not there.
  std::optional<tracefile::ProcessInfo> readInfo(const std::filesystem::path& directory) const;

  predict::FileSlots& slots() { return maker_->slots(); }

 private:
  struct Log {
    explicit Log(RingMemory ring, const tracefile::Process& process, event::PathTable& paths)
        : live(std::move(ring), process, paths, tracefile::Stacks::kLeft) {}
    LiveLog live;
    const event::Event* head = nullptr;
    std::uint32_t thread = 0;  // of its last event
    std::int64_t due_ns = 0;
    std::int64_t seen_ns = 0;   // when it had something last
    std::int64_t pause_ns = 0;  // between looks that find nothing
    // What was expected last, and how much of that is safely waited for.
    std::int64_t last_end_ns = 0;
    double until_ns = 0;
    double safe_part = 0.75;
  };

  void take(Log& log, const std::function<void(const Seen&)>& take);
  static void learnPause(Log& log);
  void renew();
  void renewAll();

  tracefile::Process process_;
  std::uint64_t start_ = 0;
  LiveClock& clock_;
  std::unique_ptr<event::PathTable> paths_;
  std::unique_ptr<tracefile::PosixOffsets> offsets_;
  std::unique_ptr<predict::OperationMaker> maker_;
  std::uint64_t sessions_ = 0;
  std::vector<std::unique_ptr<Log>> logs_;
  std::unordered_map<event::FileId, JobDescriptor> openers_;
  std::int64_t due_ns_ = 0;
};

}  // namespace omnio::prefetch
