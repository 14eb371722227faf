// Whether a replayed call came out as the recorded one: the one answer that both the status of a
// replay and `omnio verify` go by.
#pragma once

#include <cstdint>

#include "core/calls/table.hpp"

namespace omnio::replay {

struct CallResult {
  bool failed = false;
  std::int64_t result = 0;  // errno when failed
  bool at_least = false;    // the call may have returned more
};

// A run of pages that were touched in a mapping.
constexpr bool isTouch(const calls::Row& row) {
  return row.plain == calls::CallId::map_read || row.plain == calls::CallId::map_write;
}

// What inlined code did with the buffer of a stream, and the calls by which it fills or empties the
// buffer. The tracer tells it by the buffer's pointers, where another call on the stream shows
// them; and in a replay also what the replay itself moved. A library's inlined code is followed
// only from its first such call, so that a replay may be at another place of the buffer there.
constexpr bool isInlined(const calls::Row& row) {
  return row.plain == calls::CallId::inlined_getc || row.plain == calls::CallId::inlined_putc ||
         row.number == calls::toNumber(calls::CallId::__uflow) ||
         row.number == calls::toNumber(calls::CallId::__overflow);
}

// Whether the result says something about the file: bytes, items, positions, counts. Descriptors
// and characters are the replay's own.
bool isComparable(const calls::Row& row);

// Compared are success, errno, and the result where it is comparable. Touches of pages are not:
// which pages around a touched one come along is the system's choice, and so the trace of a replay
// does not tell which of them the replay touched itself.
bool isSameResult(const calls::Row& row, CallResult recorded, CallResult replayed);

}  // namespace omnio::replay
