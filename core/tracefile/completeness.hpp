// Whether a trace tells all that happened, and if not, why not and how much is missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tracefile/trace.hpp"

namespace omnio::tracefile {

struct Wholeness {
  bool whole = true;
  std::vector<std::string> reasons;  // one sentence each
  // What is not there since it was not asked for, which takes nothing from the whole.
  std::vector<std::string> notes;
  int ranks_expected = 0;  // of all jobs in the trace
  int ranks_reporting = 0;
  std::size_t processes = 0;
  std::uint64_t events = 0;  // that can be read, in all layers
  std::uint64_t events_missing = 0;
  // That application threads waited for the log to be written, in all; not known of processes that
  // were killed, nor of less than 1 ms a process.
  std::uint64_t stalled_ns = 0;
  bool at_least = false;  // of a process that was killed, more may be missing than can be known
};

Wholeness assess(const Trace& trace);

// Takes in what only shows while reading: events of a chunk that looked whole and was not.
void addUndecodable(Wholeness& wholeness, std::uint64_t events);

// The reasons for a person to read: of thousands of ranks that died alike the first few, and how
// many there are besides.
std::vector<std::string> reasonsInBrief(const Wholeness& wholeness);

// "12 events are missing", "at least 1 event is missing", "no events are missing", and the like.
std::string missingSentence(const Wholeness& wholeness);

}  // namespace omnio::tracefile
