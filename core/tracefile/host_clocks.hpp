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
  kReference,  // the others are brought to it
  kMessages,   // by messages of the application (core/order/host_offsets.hpp)
  kRealtime,   // by CLOCK_REALTIME, as well as the site's time service keeps it
};

// "reference", "messages", "realtime".
std::string_view nameOf(ClockMethod method);

// How the clock of a host was brought to the reference.
struct HostClock {
  std::string host;
  std::set<int> ranks;
  std::vector<std::size_t> processes;  // by their index in the trace
  std::size_t clock = 0;               // hosts with the same number share a clock; from 0
  ClockMethod method = ClockMethod::kReference;
  std::int64_t offset_ns = 0;                   // ahead of the reference's, at the first point
  std::optional<ClockCorrection::Drift> drift;  // against the reference's
  std::optional<std::int64_t> error_ns;         // at most, during the run; nothing: not bounded
  // Messages received on it whose receive was moved forward, since it would end before the send
  // began; by how much a time on it moved at most; and receives that are still before their send.
  std::uint64_t moved_receives = 0;
  std::int64_t moved_most_ns = 0;
  std::uint64_t early_receives = 0;
};

// The facts about a clock that messages tell; see HostClock.
struct KnownClock {
  ClockCorrection correction;
  std::uint64_t moved_receives = 0;
  std::int64_t moved_most_ns = 0;
  std::uint64_t early_receives = 0;
};
// By HostClock::clock; nothing where messages say nothing.
using KnownClocks = std::vector<std::optional<KnownClock>>;

// Gives each process its clock, corrected by `known` and, where that says nothing, by
// CLOCK_REALTIME. Returns an entry for each host, and for each of its clocks where it has several,
// in the order of the processes.
//
// A process that did not bring its facts into the trace has the clock of this node, `this_boot`
// (thisBoot()), if its rings were read here; else that of the node its container is named after.
std::vector<HostClock> assignClocks(const std::vector<std::unique_ptr<Process>>& processes,
                                    const std::string& this_boot, const KnownClocks& known = {});

// "host b: 3.000000 s ahead of that of host a, 50.000 ppm fast (by up to 0.310 more or less), wrong
// by at most 21.4 us (messages)", for each host whose clock is another than the reference's.
std::vector<std::string> clockSentences(const std::vector<HostClock>& clocks);

}  // namespace omnio::tracefile
