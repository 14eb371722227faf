// What a call that locks files did (flock(2); fcntl(2), record locks).
#pragma once

#include <cstdint>
#include <optional>

#include "core/event/event.hpp"
#include "core/event/file_positions.hpp"

namespace omnio::event {

struct FileLock {
  enum class Type : std::uint8_t { kNone, kShared, kExclusive };
  Type type = Type::kNone;  // none: it was given up
  // Else it belongs to the open file description.
  bool is_of_process = false;
  // The bytes that it is about; all of the file where that is not known.
  bool is_range_known = true;
  std::uint64_t begin = 0;
  std::uint64_t end = UINT64_MAX;  // one past the last byte
};

// The kind of lock that a call asks for, also where it failed; kNone where it gives one up. Other
// calls, and those that only ask who has one, give nothing.
std::optional<FileLock::Type> lockAskedFor(const Event& event);

// Nothing of other calls, and of those that failed or only asked. `open`, `size`: as they were
// when the call was made; ranges may count from there.
std::optional<FileLock> lockOf(const Event& event, const OpenFile& open, const FileSize& size);

}  // namespace omnio::event
