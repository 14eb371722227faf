// The commands of fcntl for record locks (fcntl(2)).
#pragma once

#include <fcntl.h>

#include <cstdint>

namespace omnio::calls {

// They take a lock or give it up: one of the process, or of the open file description.
constexpr bool setsProcessLock(std::int64_t command) {
  return command == F_SETLK || command == F_SETLKW;
}
constexpr bool setsDescriptionLock(std::int64_t command) {
  return command == F_OFD_SETLK || command == F_OFD_SETLKW;
}
constexpr bool setsLock(std::int64_t command) {
  return setsProcessLock(command) || setsDescriptionLock(command);
}
// It tells who has the lock.
constexpr bool findsLock(std::int64_t command) {
  return command == F_GETLK || command == F_OFD_GETLK;
}
constexpr bool isOfLocks(std::int64_t command) { return setsLock(command) || findsLock(command); }

}  // namespace omnio::calls
