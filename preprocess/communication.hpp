// The second pass over a trace: its MPI calls and the calls of the schedule together, thread by
// thread as far as messages and collective calls allow. Tells the order that communication puts
// steps of different threads into (communication_order.hpp).
#pragma once
#include <cstdint>

#include "core/tracefile/trace.hpp"
#include "preprocess/analysis.hpp"
#include "preprocess/communication_order.hpp"

namespace omnio::preprocess {

struct Communication {
  CommunicationOrder order;
  std::uint64_t events = 0;     // MPI calls that order ranks
  std::uint64_t unmatched = 0;  // of these, such whose counterpart is missing
};

// Reads the trace once more, by the threads of `sources`; without the calls that `analysis` left
// out.
Communication readCommunication(const tracefile::Trace& trace, const SourceThreads& sources,
                                const Analysis& analysis);

}  // namespace omnio::preprocess
