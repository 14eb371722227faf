// How much of what its processes moved a trace tells of: their recorded calls beside the kernel's
// account (core/wire/moved_bytes.hpp).
#pragma once

#include <optional>
#include <vector>

#include "core/tracefile/process.hpp"
#include "core/wire/moved_bytes.hpp"

namespace omnio::tracefile {

class Trace;

// What the process said last; nothing where it said nothing, or the kernel did not tell it.
std::optional<wire::MovedAccount> movedAccountOf(const ProcessInfo& info);

// Of one process, or of many.
struct SeenBytes {
  wire::MovedBytes seen;    // by recorded calls
  wire::MovedBytes unseen;  // by others, at the least

  SeenBytes& operator+=(const SeenBytes& other);
};

// In the order of the trace's processes; nothing of those without an account. A process is not
// compared with the kernel where that may have added the bytes of children to its own unseen. A few
// bytes are not told: the C library reads files of its own past all wrappers, and may read a buffer
// more than a program asks for.
std::vector<std::optional<SeenBytes>> seenBytes(const Trace& trace);

}  // namespace omnio::tracefile
