// The trace a command reads, and which part of it: TRACE, --rank, --thread.
#pragma once

#include <optional>
#include <string>

#include "core/tracefile/trace.hpp"

namespace CLI {
class App;
}

namespace omnio::cli {

struct TraceSelection {
  std::string trace;
  std::optional<int> rank;
  std::optional<unsigned> thread;

  // Adds the options to a command; the selection has to outlive it.
  void addTrace(CLI::App& command);
  void addRank(CLI::App& command);
  void addThread(CLI::App& command);

  // Opens the trace; says why not, and returns nothing, when that fails.
  std::optional<tracefile::Trace> open() const;
};

}  // namespace omnio::cli
