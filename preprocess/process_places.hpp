// The steps that processes add to the order of a schedule: where children start, and where a thread
// waited until one had ended. A place is a thread: those of the schedule come first, by their index
// in SourceThreads, then threads without a log, such as those of shells.
#pragma once
#include <cstdint>
#include <vector>

#include "core/order/process_tree.hpp"
#include "core/tracefile/trace.hpp"
#include "preprocess/analysis.hpp"

namespace omnio::preprocess {

struct ProcessPlaces {
  struct Place {
    std::vector<order::ProcessStep> steps;  // by at_ns()
    bool is_started = false;                // not before a step has started its process
    // Else, not before these have come as far as this, where the process became another program.
    std::vector<std::uint32_t> before;
    std::int64_t begin_ns = 0;
  };
  struct Process {
    std::vector<std::uint32_t> first;  // places of its first program
    std::vector<std::uint32_t> last;   // places of its last program; the first place ends with it
    std::int64_t end_ns = 0;           // 0: not known
  };
  std::vector<Place> places;
  std::vector<Process> processes;  // as in the tree
};

ProcessPlaces processPlaces(const order::ProcessTree& tree, const tracefile::Trace& trace,
                            const SourceThreads& sources);

}  // namespace omnio::preprocess
