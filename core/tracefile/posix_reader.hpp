// The POSIX and stream calls of a log that are the application's I/O: its own, and those that
// MPI-IO made for it. What the MPI library does for itself (in MPI_Init, in communication) is left
// out, and so are the MPI calls: of two layers that tell the same I/O, this is the lower one.
#pragma once

#include <cstdint>

#include "core/event/event.hpp"
#include "core/tracefile/log_reader.hpp"

namespace omnio::tracefile {

class PosixReader final : public event::EventSource {
 public:
  // As of LogReader.
  PosixReader(const Process& process, const Log& log, event::PathTable& paths);

  const event::Event* next() override;
  std::uint64_t missingBefore() const override { return missing_before_; }
  std::uint64_t undecodable() const override { return events_.undecodable(); }

  // Calls below the application's own that were left out so far.
  std::uint64_t leftOut() const { return left_out_; }

 private:
  bool isPartOfFileAccess();

  LogReader events_;
  // An event is written when it ends, so the call around it comes after it. A second reader runs
  // ahead to find that one.
  LogReader scout_;
  std::uint64_t inner_left_ = 0;  // events whose call around them is known
  bool keep_inner_ = false;
  bool scout_is_behind_outer_ = false;  // it has passed the call around what comes now
  std::uint64_t missing_before_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace omnio::tracefile
