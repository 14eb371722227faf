// The trace a command reads, and which part of it: TRACE, --rank, --thread.
#pragma once

#include <optional>
#include <string>

#include "core/base/command_line.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::cli {

struct TraceSelection {
  std::string trace;
  std::optional<int> rank;
  std::optional<unsigned> thread;

  // Adds the options to a command; the selection has to outlive it.
  base::OptionHandle addTrace(base::Command command);
  void addRank(base::Command command);
  void addThread(base::Command command);

  // Opens the trace; says why not, and returns nothing, when that fails.
  std::optional<tracefile::Trace> open() const;
};

}  // namespace omnio::cli
