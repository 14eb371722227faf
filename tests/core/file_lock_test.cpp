// What calls that lock files did.
#include "core/event/file_lock.hpp"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <limits>
#include <map>

#include "tests/core/trace_builder.hpp"

namespace omnio::event {
namespace {

using calls::Role;
using Type = FileLock::Type;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

std::optional<FileLock> lockOf(std::string_view symbol, const std::map<Role, std::int64_t>& values,
                               const OpenFile& open = {}, const FileSize& size = {},
                               bool failed = false) {
  Event event;
  event.row = &calls::kTable[test::numberOf(symbol)];
  for (const auto& [role, value] : values) {
    event.arguments[static_cast<std::size_t>(calls::indexOf(*event.row, role))] = value;
  }
  event.failed = failed;
  return event::lockOf(event, open, size);
}

std::optional<FileLock> record(std::int64_t whence, std::int64_t offset, std::int64_t length,
                               const OpenFile& open = {}, const FileSize& size = {}) {
  return lockOf("(fcntl_lock)",
                {{Role::kCommand, F_SETLKW},
                 {Role::kLockType, F_WRLCK},
                 {Role::kWhence, whence},
                 {Role::kOffset, offset},
                 {Role::kLength, length}},
                open, size);
}

void expectBytes(const std::optional<FileLock>& lock, std::uint64_t begin, std::uint64_t end) {
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->is_range_known);
  EXPECT_EQ(lock->begin, begin);
  EXPECT_EQ(lock->end, end);
}

TEST(FileLock, LengthsBelowZeroAreOfTheBytesBefore) {
  expectBytes(record(SEEK_SET, 100, 8), 100, 108);
  expectBytes(record(SEEK_SET, 100, 0), 100, UINT64_MAX);
  expectBytes(record(SEEK_SET, 100, -40), 60, 100);
  expectBytes(record(SEEK_SET, 100, -400), 0, 100);
  expectBytes(record(SEEK_SET, 100, kLeast), 0, 100);
}

TEST(FileLock, BehindTheLastByteThereIsNothing) {
  expectBytes(record(SEEK_SET, kMost - 8, 8), static_cast<std::uint64_t>(kMost) - 8,
              static_cast<std::uint64_t>(kMost));
  expectBytes(record(SEEK_SET, kMost - 8, 9), static_cast<std::uint64_t>(kMost) - 8, UINT64_MAX);
  expectBytes(record(SEEK_SET, 1, kMost), 1, UINT64_MAX);
}

TEST(FileLock, RangesCountFromThePositionAndTheEnd) {
  const OpenFile at_1000{.position = 1000};
  const FileSize size{.bytes = 5000, .is_known = true};
  expectBytes(record(SEEK_CUR, -100, 10, at_1000), 900, 910);
  expectBytes(record(SEEK_END, -100, 10, at_1000, size), 4900, 4910);
}

TEST(FileLock, ARangeThatIsNotKnownIsAllOfTheFile) {
  const OpenFile elsewhere{.is_known = false, .position = 1000};
  for (const auto& lock :
       {record(SEEK_CUR, 0, 10, elsewhere), record(SEEK_END, 0, 10), record(SEEK_CUR, -1, 10),
        record(SEEK_CUR, kMost, 10, {.position = 1}), record(99, 0, 10)}) {
    ASSERT_TRUE(lock);
    EXPECT_FALSE(lock->is_range_known);
    EXPECT_EQ(lock->begin, 0U);
    EXPECT_EQ(lock->end, UINT64_MAX);
  }
}

TEST(FileLock, OwnersAndTypes) {
  const auto type = [](std::int64_t command, std::int64_t type_of_lock) {
    return lockOf("(fcntl_lock)", {{Role::kCommand, command}, {Role::kLockType, type_of_lock}});
  };
  EXPECT_TRUE(type(F_SETLK, F_RDLCK)->is_of_process);
  EXPECT_EQ(type(F_SETLK, F_RDLCK)->type, Type::kShared);
  EXPECT_FALSE(type(F_OFD_SETLKW, F_UNLCK)->is_of_process);
  EXPECT_EQ(type(F_OFD_SETLKW, F_UNLCK)->type, Type::kNone);
  EXPECT_FALSE(type(F_GETLK, F_WRLCK));
  EXPECT_FALSE(type(F_OFD_GETLK, F_WRLCK));
  EXPECT_FALSE(type(F_SETLK, 77));
  EXPECT_EQ(lockOf("flock", {{Role::kNumber, LOCK_SH | LOCK_NB}})->type, Type::kShared);
  EXPECT_EQ(lockOf("flock", {{Role::kNumber, LOCK_EX}})->type, Type::kExclusive);
  EXPECT_EQ(lockOf("flock", {{Role::kNumber, LOCK_UN}})->type, Type::kNone);
  EXPECT_FALSE(lockOf("flock", {{Role::kNumber, LOCK_EX}}, {}, {}, true));
  EXPECT_FALSE(lockOf("pread", {}));
}

TEST(FileLock, LockfIsOfTheBytesFromThePositionOn) {
  const auto lock = [](std::int64_t command) {
    return lockOf("lockf", {{Role::kNumber, command}, {Role::kLength, 8}}, {.position = 100});
  };
  expectBytes(lock(F_LOCK), 100, 108);
  EXPECT_TRUE(lock(F_LOCK)->is_of_process);
  EXPECT_EQ(lock(F_TLOCK)->type, Type::kExclusive);
  EXPECT_EQ(lock(F_ULOCK)->type, Type::kNone);
  EXPECT_FALSE(lock(F_TEST));
}

}  // namespace
}  // namespace omnio::event
