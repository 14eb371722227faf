// clocks.json: what was found about the clocks of a trace's hosts, kept beside the trace
// (docs/formats/trace.md, "Clocks").
#pragma once

#include <optional>

#include "core/tracefile/trace.hpp"

namespace omnio::order {

// The file of a trace directory that keeps it.
inline constexpr const char* kClocksFile = "clocks.json";

// Nothing when the file is missing or damaged, and when it was written for other
// containers than those of the trace now.
std::optional<tracefile::KnownClocks> readClocks(const tracefile::Trace& trace);

// Where the directory cannot be written, nothing is kept, and the clocks are found again next time.
void writeClocks(const tracefile::Trace& trace, const tracefile::KnownClocks& known);

}  // namespace omnio::order
