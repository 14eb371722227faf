// sendfile from a file to what is not recorded, such as a socket: the file is read, and nothing
// that is recorded is written.
#pragma once

#include <sys/types.h>

#include "core/calls/table.hpp"
#include "trace/wrap/intercept.hpp"

namespace omnio::trace {

// Whether such a call is recorded as a read of its source.
inline bool isReadBySendfile(int to, int from) {
  return isActive() && mayRecord(thread) && !find(to).isTraced() && find(from).isTraced();
}

// Calls `real` and records the read. How much a socket takes is its own business: the event has the
// bytes that it took for those that were asked for, and calls that fail or take none are not told.
template <typename Real>
ssize_t readBySendfile(Real real, int from, off64_t* offset, std::size_t bytes) {
  constexpr const calls::Row& row = calls::rowOf(CallId::sendfile_read);
  Thread& self = thread;
  Subject subject;
  subject.handle = find(from);
  wire::EventTimes times;
  times.start = leaveThinking(self);
  const ssize_t result = real();
  const int error = errno;
  times.end = ticks();
  if (result >= 0) {
    countPassed(0, static_cast<std::uint64_t>(result));
    const std::uint64_t asked = result > 0 ? static_cast<std::uint64_t>(result) : bytes;
    wire::Arguments<CallId::sendfile_read> values{};
    values[calls::indexOf(row, calls::Role::kOffset)] = offset == nullptr ? -1 : *offset - result;
    values[calls::indexOf(row, calls::Role::kSize)] = static_cast<std::int64_t>(asked);
    record<CallId::sendfile_read>(self, times, false, values, asked, result, subject);
  }
  errno = error;
  return result;
}

}  // namespace omnio::trace
