// The tracer's settings. They come from the environment alone: it has to work without a command
// line, and without a home directory to look for files in. core/wire/settings.hpp has the table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/wire/ring.hpp"

namespace omnio::trace {

struct Settings {
  char directory[wire::kMaxTraceDirectory] = {};  // absolute
  const char* exclude = "";                       // colon-separated, copies
  const char* include = "";
  const char* refused = "";     // variables whose values mean nothing, "NAME=value ..."
  bool flavour_is_ours = true;  // to find out, since none was asked for
  bool starts_stopped = false;
  bool system_clock = false;
  bool drops_when_slow = false;
  std::uint32_t callstack = 0;         // frames; 0: none; or kAutoStackFrames
  const char* callstack_through = "";  // a copy
  int toggle_signal = 0;               // 0: none
  std::uint64_t max_log_size = 0;      // bytes; 0: no limit
};

// Whether there is a directory to trace into.
bool isAskedFor();
// Copies of everything, since the application may change its environment at any time.
void readSettings(Settings& settings);

}  // namespace omnio::trace
