// The clocks of a trace's nodes, brought together: times of all events are those of one node's
// CLOCK_MONOTONIC, the reference's (docs/formats/trace.md, "Clocks").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/tracefile/node_clock.hpp"
#include "core/tracefile/process.hpp"

namespace omnio::tracefile {

enum class ClockMethod : std::uint8_t {
  kReference,  // it is the one that the others are brought to, or shares its clock
  kExchange,   // by messages in MPI_Init and in MPI_Finalize
  kStartOnly,  // by those of one moment: drift is not known
  kRealtime,   // by CLOCK_REALTIME, as well as the site's time service keeps it
};

// "reference", "exchange", "start only", "realtime".
std::string_view nameOf(ClockMethod method);

// What was done about the clock of a host.
struct HostClock {
  std::string host;
  std::set<int> ranks;
  std::vector<std::size_t> processes;  // by their place in the trace
  ClockMethod method = ClockMethod::kReference;
  std::int64_t offset_ns = 0;                   // ahead of the reference's, when first compared
  std::optional<ClockCorrection::Drift> drift;  // against the reference's
  std::optional<std::int64_t> error_ns;         // at most, where they were compared
};

// Gives each process its clock. Returns an entry for each host, and for each of its clocks where it
// has several, in the order of the processes.
//
// A process that did not bring its facts into the trace has the clock of this node, `this_boot`
// (thisBoot()), if its rings were read here; else that of the node its container is named after.
std::vector<HostClock> assignClocks(const std::vector<std::unique_ptr<Process>>& processes,
                                    const std::string& this_boot);

// "host b: 3.000000 s ahead of host a, 50.00 ppm fast (+-0.31), wrong by at most 21.4 us
// (exchange)", for each host whose clock is another than the reference's.
std::vector<std::string> clockSentences(const std::vector<HostClock>& clocks);

}  // namespace omnio::tracefile
