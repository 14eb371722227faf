// Streams of events: one log, and the application's own I/O in a log.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/file.hpp"
#include "core/event/event.hpp"
#include "core/event/io_requests.hpp"
#include "core/tracefile/chunk_events.hpp"
#include "core/tracefile/process.hpp"

namespace omnio::tracefile {

// Reads the events of one log, in order. Memory is one chunk, however long the log is.
class LogReader final : public event::EventSource {
 public:
  // `process` and `paths` outlive the reader; `paths` may be shared by readers of one thread. What
  // is read counts as progress (core/base/progress.hpp), unless another reader does so for it.
  LogReader(const Process& process, const Log& log, event::PathTable& paths,
            Stacks stacks = Stacks::kLeft, bool is_progress = true);

  // Gives only the application's own calls of MPI from now on. Only their files get into the table
  // of paths. Think time is not counted then.
  void chooseOwnMpi() { events_.chooseOwnMpi(); }

  const event::Event* next() override;
  std::uint64_t missingBefore() const override { return missing_before_; }
  std::uint64_t undecodable() const override { return undecodable_; }
  event::ThinkTime thinkTime() const override { return think_; }

  // Goes on, from wherever it is, so that next() gives the event that `ahead`, a reader of the same
  // log, gave last. Chunks in between are not read. Does nothing when it is past that event.
  void catchUpWith(const LogReader& ahead);

 private:
  bool openChunk();
  bool loadPayload(const StoredChunk& chunk);
  bool openFile();
  const StoredChunk* placeOf(const StoredChunk& chunk) const;
  void leaveChunk();
  void noteThinking(const event::Event& event);

  const Process& process_;
  const Log& log_;
  const bool is_progress_;
  std::optional<base::File> container_;
  // Where this log's chunks are in a file that has taken the container's place since it was
  // scanned: it was packed, or restored.
  std::optional<std::vector<StoredChunk>> moved_;
  std::vector<char> payload_;
  ChunkEvents events_;
  std::size_t next_chunk_ = 0;
  std::uint64_t expected_event_ = 0;  // number of the next event when nothing is missing
  std::uint64_t missing_before_ = 0;
  std::uint64_t undecodable_ = 0;
  event::ThinkTime think_;
  std::optional<std::int64_t> last_end_ns_;  // of the outermost calls
};

// The calls of a log that IoReader gives. Without one of these it is the POSIX and stream calls
// that are the application's I/O: its own, and those that MPI-IO made for it.
struct IoChoice {
  // kMpi: the calls of MPI-IO, and those that found requests of it complete, in place of the POSIX
  // calls below.
  event::IoLayer layer = event::IoLayer::kPosix;
  // With kMpi: and the POSIX calls that were made for MPI-IO, each with Event::outer, before the
  // call that they were made for. Those of a call that is not in the log (the process died in it)
  // are left out.
  bool below = false;
  bool thread_waits = false;  // and the calls by which threads wait for each other
  Stacks stacks = Stacks::kLeft;
  bool is_progress = true;  // as of LogReader
};

// Reads the application's I/O in a log, at one of its two layers (IoLayer). It leaves out I/O that
// the MPI library does for its own purposes, in MPI_Init or in communication.
class IoReader final : public event::EventSource {
 public:
  // As of LogReader.
  IoReader(const Process& process, const Log& log, event::PathTable& paths, IoChoice choice = {});

  const event::Event* next() override;
  std::uint64_t missingBefore() const override { return missing_before_; }
  std::uint64_t undecodable() const override { return events_.undecodable(); }
  event::ThinkTime thinkTime() const override { return events_.thinkTime(); }

  // MPI calls of the thread that were left out between the last event and the one before it.
  std::uint64_t mpiCallsBefore() const { return mpi_calls_before_; }

  // Calls below the application's own that were left out so far.
  std::uint64_t leftOut() const { return left_out_; }

 private:
  bool isPartOfFileAccess(const event::Event& event);
  bool isChosen(const event::Event& event);

  const IoChoice choice_;
  LogReader events_;
  // An event is written when it ends, so the call around it comes after it. A second reader runs
  // ahead from an inner event to find that one; where there are none, it reads nothing.
  LogReader scout_;
  std::uint64_t inner_left_ = 0;  // events whose call around them is known
  const event::Event* outer_ = nullptr;
  bool keep_inner_ = false;
  event::IoRequests requests_;
  event::Event inner_;
  std::uint64_t mpi_calls_ = 0;  // that were left out since the last event
  std::uint64_t mpi_calls_before_ = 0;
  std::uint64_t missing_before_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace omnio::tracefile
