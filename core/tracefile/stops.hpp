// When recording was stopped on request: what happened then is not in the trace, and the trace is
// whole all the same. The facts are in core/wire/info.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tracefile/trace.hpp"

namespace omnio::tracefile {

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

// "recording was stopped on request in 4 of 4 processes, for up to 3.200 s: what they did then is
// not in the trace, nor where they left their files"; empty when it never was.
std::string stoppedSentence(const Trace& trace);

// The values of settings that no process could make sense of, a sentence each.
std::vector<std::string> refusedSettings(const Trace& trace);

}  // namespace omnio::tracefile
