// A trace in a form that tests compare: one value for each event, in the order of its
// log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/tracefile/completeness.hpp"

namespace omnio::test {

struct RecordedEvent {
  std::string call;
  std::uint32_t log = 0;
  std::uint32_t pid = 0;
  bool failed = false;
  std::int64_t result = 0;
  std::uint64_t request = 0;
  std::vector<std::int64_t> numbers;     // by index in the row; 0 where a text or handle stands
  std::map<int, std::string> texts;      // absolute, by index
  std::map<int, std::string> raw_texts;  // as the application gave them
  std::string handle;                    // path of the handle the call works on, or empty
  int fd = -1;                           // of that handle
  std::string new_handle;
  std::vector<std::uint64_t> pieces;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t recorder_ns = 0;  // that the recorder worked before it

  bool operator==(const RecordedEvent&) const = default;
};

struct RecordedTrace {
  std::vector<RecordedEvent> events;  // by process, log and time
  tracefile::Wholeness wholeness;
  std::size_t processes = 0;

  std::size_t count(const std::string& call) const;
  // The reasons why it is not whole, as one text; empty when it is.
  std::string trouble() const;
};

// Throws without a trace.
RecordedTrace readTrace(const std::filesystem::path& trace);

// Removes the rings that wait to be collected into the trace, which nothing else does.
void removeRings(const std::filesystem::path& trace);

}  // namespace omnio::test
