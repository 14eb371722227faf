// A part of the time of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/result.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::tracefile {

// Times from the start of the run: that of the first recorded call of all ranks. An event belongs
// to the window in which it begins.
struct Window {
  std::int64_t from_ns = 0;
  std::optional<std::int64_t> to_ns;  // not included; none: up to the end
};

// Reads `1.5..3`, `..3` or `1.5..`, in seconds. Fails with a sentence.
base::Result<Window> readWindow(std::string_view text);
// Reads one such time: `1.5`, in seconds.
base::Result<std::int64_t> readTime(std::string_view text);

// When the first call of the trace began; 0 where there are none.
std::int64_t startOfRun(const Trace& trace);

}  // namespace omnio::tracefile
