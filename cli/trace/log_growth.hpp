// How fast a trace grows: what a longer run would need.
#pragma once

#include <cstdint>
#include <string>

#include "core/tracefile/trace.hpp"

namespace omnio::cli {

struct LogGrowth {
  std::uint64_t bytes = 0;  // of the files of all processes
  // The time from the first begin of a process to the last end of one; less the part of their own
  // times that recording was stopped in.
  double recorded_s = 0;

  double bytesPerHour() const;  // 0 when no time was recorded
};

LogGrowth growthOf(const tracefile::Trace& trace);

// "12.3 MiB in 8.6 s, 5.03 GiB an hour"; of less than a second the size alone, since most of that
// is the beginning.
std::string growthText(const LogGrowth& growth);

}  // namespace omnio::cli
