// Whether a trace tells all that happened, and if not, why not and how much is missing.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/tracefile/moved_bytes.hpp"
#include "core/tracefile/stack_breaks.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::tracefile {

// When recording was stopped on request: what happened then is not in the trace, and the trace is
// whole all the same. The facts are in core/wire/info.hpp.
// Times are those of events: ns, of the trace's clock.
struct Stop {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct Stops {
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;
  // By time; of many (info::kNamedStops) the first alone, and of those before the process had a log
  // none.
  std::vector<Stop> known;
};

// A stop that the process did not end goes on to where its log ends, as far as that is known.
Stops stopsOf(const Process& process);

// The calls that a default filter left out, summed over all processes.
struct LeftOut {
  std::string pattern;
  std::uint64_t calls = 0;
  wire::MovedBytes moved{};
};
std::vector<LeftOut> leftOutOf(const Trace& trace);

struct Wholeness {
  bool whole = true;
  // Nothing is missing that a process may still write: it is whole, or stays as it is.
  bool settled = true;
  std::vector<std::string> reasons;  // one sentence each
  // One sentence each about what was left out on request: the trace is whole all the same.
  std::vector<std::string> notes;
  // The same about what default filters left out; empty where they left out nothing. A run of MPI
  // has it each time, so it is not among the notes, which a command prints whatever it is about.
  std::string left_out_note;
  int ranks_expected = 0;  // of all jobs in the trace
  int ranks_reporting = 0;
  std::size_t processes = 0;
  std::uint64_t events = 0;  // that can be read, in all layers
  std::uint64_t events_missing = 0;
  // The time that application threads waited for the log to be written, in all; not known of
  // processes that were killed, nor of less than 1 ms a process.
  std::uint64_t stalled_ns = 0;
  // Calls without a call stack, in a trace that has stacks, since the tracer could not keep it; and
  // processes whose stacks have one frame from some moment on.
  std::uint64_t stacks_not_kept = 0;
  std::uint64_t processes_with_short_stacks = 0;
  std::vector<StackBreak> stack_breaks;
  // What the processes moved, as far as they and the kernel tell: by recorded calls and by others.
  SeenBytes bytes;
  std::vector<LeftOut> left_out;
  bool at_least = false;  // of a process that was killed, more may be missing than can be known
};

Wholeness assess(const Trace& trace);

// Takes in what only shows while reading: events of a chunk that looked whole and was not.
void addUndecodable(Wholeness& wholeness, std::uint64_t events);

// The reasons for a person to read: of thousands of ranks that died alike the first few, and how
// many there are besides.
std::vector<std::string> reasonsInBrief(const Wholeness& wholeness);

// The notes, and then the one on what default filters left out.
std::vector<std::string> allNotes(const Wholeness& wholeness);

// "12 events are missing", "at least 1 event is missing", "no events are missing", or, of one
// that is not whole for another reason, "all that was recorded is there".
std::string missingSentence(const Wholeness& wholeness);

// The sentences about call stacks that are missing or cut; none when all are there.
std::vector<std::string> missingStackSentences(const Wholeness& wholeness);

// "read 32.0 MiB and wrote 4.00 MiB", "wrote 4.00 MiB", or nothing.
std::string unseenWords(const wire::MovedBytes& unseen);

}  // namespace omnio::tracefile
