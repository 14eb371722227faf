#include "core/event/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/calls/lock_commands.hpp"

namespace omnio::event {
namespace {

using calls::CallId;
using calls::Role;
using Type = FileLock::Type;

// Each of the three below gives nothing where the call takes no lock and gives none up.
std::optional<Type> typeOfFlock(std::int64_t operation) {
  switch (operation & ~LOCK_NB) {
    case LOCK_SH:
      return Type::kShared;
    case LOCK_EX:
      return Type::kExclusive;
    case LOCK_UN:
      return Type::kNone;
    default:
      return {};
  }
}
std::optional<Type> typeOfLockf(std::int64_t command) {
  switch (command) {
    case F_LOCK:
    case F_TLOCK:
      return Type::kExclusive;
    case F_ULOCK:
      return Type::kNone;
    default:
      return {};
  }
}
std::optional<Type> typeOfRecordLock(std::int64_t type) {
  switch (type) {
    case F_RDLCK:
      return Type::kShared;
    case F_WRLCK:
      return Type::kExclusive;
    case F_UNLCK:
      return Type::kNone;
    default:
      return {};
  }
}

// Where the lock's range counts from; nothing where that is not known.
std::optional<std::int64_t> baseOf(std::int64_t whence, const OpenFile& open,
                                   const FileSize& size) {
  switch (whence) {
    case SEEK_SET:
      return 0;
    case SEEK_CUR:
      return open.is_known ? std::optional(open.position) : std::nullopt;
    case SEEK_END:
      return size.is_known ? std::optional(size.bytes) : std::nullopt;
    default:
      return {};
  }
}

// The bytes from `offset` on, as many as `length` says: 0 for all, and less than 0 for those
// before it.
void setRange(FileLock& lock, std::optional<std::int64_t> base, std::int64_t offset,
              std::int64_t length) {
  std::int64_t start = 0;
  lock.is_range_known = base && !__builtin_add_overflow(*base, offset, &start) && start >= 0;
  if (!lock.is_range_known) return;
  lock.begin = static_cast<std::uint64_t>(start);
  std::int64_t end = 0;
  if (length < 0) {
    lock.end = lock.begin;
    lock.begin = length < -start ? 0 : static_cast<std::uint64_t>(start + length);
  } else if (length > 0 && !__builtin_add_overflow(start, length, &end)) {
    lock.end = static_cast<std::uint64_t>(end);
  }
}

}  // namespace

std::optional<FileLock::Type> lockAskedFor(const Event& event) {
  if (event.row->plain == CallId::flock) return typeOfFlock(argumentOf(event, Role::kNumber));
  if (event.row->plain == CallId::lockf) return typeOfLockf(argumentOf(event, Role::kNumber));
  const bool sets =
      calls::has(*event.row, Role::kLockType) && calls::setsLock(argumentOf(event, Role::kCommand));
  return sets ? typeOfRecordLock(argumentOf(event, Role::kLockType)) : std::nullopt;
}

std::optional<FileLock> lockOf(const Event& event, const OpenFile& open, const FileSize& size) {
  const std::optional<Type> type = lockAskedFor(event);
  if (event.failed || !type) return {};
  FileLock lock{.type = *type};
  if (event.row->plain == CallId::lockf) {
    lock.is_of_process = true;
    setRange(lock, baseOf(SEEK_CUR, open, size), 0, argumentOf(event, Role::kLength));
  } else if (calls::has(*event.row, Role::kLockType)) {
    lock.is_of_process = calls::setsProcessLock(argumentOf(event, Role::kCommand));
    setRange(lock, baseOf(argumentOf(event, Role::kWhence), open, size),
             argumentOf(event, Role::kOffset), argumentOf(event, Role::kLength));
  }
  return lock;
}

}  // namespace omnio::event
