// The clocks of a trace's hosts, from what the application's own messages say: a receive does not
// end before its send begins, and no rank leaves a barrier before all have come.
//
// 1. For each pair of hosts: the lines between the bounds (core/order/offset_bounds.hpp).
// 2. From the reference's host outwards along the pairs with the least errors; errors add up.
// 3. Where a message still seems to end before it begins (no line fits, or it goes between two
//    hosts that were brought to the reference along different ways): the receive is moved forward
//    to its send, which may move what its host sends later past the receives, and these as well.
//    What follows on a host that was moved catches up slowly, as the controlled logical clock does
//    it (R. Rabenseifner, "The controlled logical clock", 1997; D. Becker, R. Rabenseifner, F.
//    Wolf, J. Linford, "Scalable timestamp synchronization for event traces of message-passing
//    applications", 2009).
//
// The result is kept beside the trace (docs/formats/trace.md, "Clocks").
#pragma once

#include <filesystem>
#include <optional>

#include "core/base/result.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::order {

// Whether ranks of the trace ran by different clocks: otherwise there is nothing to work out.
bool hasSeveralClocks(const tracefile::Trace& trace);

// Reads the messages of the whole trace, as its clocks are by CLOCK_REALTIME. By HostClock::clock.
tracefile::KnownClocks findClocks(tracefile::Trace& trace);

// Corrects the times of the trace by clocks.json, where that was found for these containers; else
// finds the clocks and, where the directory may be written and no process runs, keeps them.
void useClocks(tracefile::Trace& trace);

// Trace::open() and useClocks().
base::Result<tracefile::Trace> openWithClocks(const std::filesystem::path& directory);

// clocks.json: what was found about the clocks of a trace's hosts, kept beside the trace
// (docs/formats/trace.md, "Clocks").

// The file of a trace directory that keeps it.
inline constexpr const char* kClocksFile = "clocks.json";

// Nothing when the file is missing or damaged, and when it was written for other
// containers than those of the trace now.
std::optional<tracefile::KnownClocks> readClocks(const tracefile::Trace& trace);

// Where the directory cannot be written, nothing is kept, and the clocks are found again next time.
void writeClocks(const tracefile::Trace& trace, const tracefile::KnownClocks& known);

}  // namespace omnio::order
