// Where events come from, one after the other: a log, or what is left of one behind a filter.
#pragma once

#include <cstdint>

#include "core/event/event.hpp"

namespace omnio::event {

class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;  // events point into their source
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  // The next event, or nullptr at the end. It is valid until the next call.
  virtual const Event* next() = 0;

  // Events that are missing right before the one that next() returned last (after the end: at the
  // end of the log, as far as that can be known).
  virtual std::uint64_t missingBefore() const = 0;

  // Events of chunks that looked whole and could not be decoded to their end.
  virtual std::uint64_t undecodable() const = 0;
};

}  // namespace omnio::event
