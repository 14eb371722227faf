#include "replay/plan/in_place.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "replay/plan/program.hpp"
#include "tests/replay/schedule_calls.hpp"

namespace omnio::replay {
namespace {

using model::ScheduleEvent;
using test::call;

ScheduleEvent opened(std::string_view name, std::int64_t flags) {
  ScheduleEvent event = call(name, 0);
  event.arguments[static_cast<std::size_t>(calls::indexOf(*event.row, calls::Role::kFlags))] =
      flags;
  return event;
}

ScheduleEvent stream(std::string mode) {
  ScheduleEvent event = call("fopen", 0);
  event.text = std::move(mode);
  return event;
}

TEST(InPlace, OpensOnlyReadWhereTheirFlagsSaySo) {
  EXPECT_TRUE(onlyReads(opened("open64", O_RDONLY | O_CLOEXEC)));
  EXPECT_TRUE(onlyReads(opened("openat", O_RDONLY | O_DIRECTORY)));
  for (const std::int64_t flags : {O_RDWR, O_WRONLY, O_CREAT, O_TRUNC, O_TMPFILE}) {
    EXPECT_FALSE(onlyReads(opened("open", flags))) << flags;
  }
  EXPECT_TRUE(onlyReads(stream("rb")));
  EXPECT_FALSE(onlyReads(stream("r+")));
  EXPECT_FALSE(onlyReads(stream("w")));
  EXPECT_FALSE(onlyReads(call("creat", 0)));
}

// What is not known to be harmless is not: a new row of the table has to be looked at.
TEST(InPlace, MetadataCallsAreAllowedByName) {
  for (const char* name : {"stat", "fstatat64", "statx", "access", "fgetxattr", "dup2", "fcntl",
                           "readlink", "posix_fadvise64", "setvbuf", "ungetc"}) {
    EXPECT_TRUE(onlyReads(call(name, 0))) << name;
  }
  for (const char* name :
       {"chmod", "fchmod", "fchown", "utimensat", "futimes", "fsetxattr", "removexattr", "unlink",
        "rename", "link", "truncate", "ftruncate", "fallocate", "mkdir", "lockf", "mkstemp"}) {
    EXPECT_FALSE(onlyReads(call(name, 0))) << name;
  }
}

TEST(InPlace, ALockMayNotKeepOtherReadersOut) {
  ScheduleEvent event = call("flock", 0);
  event.arguments[1] = LOCK_SH | LOCK_NB;
  EXPECT_TRUE(onlyReads(event));
  event.arguments[1] = LOCK_EX;
  EXPECT_FALSE(onlyReads(event));
}

TEST(InPlace, ADescriptorOfALaterThreadIsLookedAtWhenItIsKnown) {
  std::vector<PlannedFile> files(2);
  files[1].location = "in";
  files[1].origin = Origin::kInPlace;
  ScheduleEvent event = call("fchmod", 0);
  event.fd = model::Descriptor{3};
  InPlaceCheck check;
  EXPECT_FALSE(check.event(event, kNoFile, files));
  EXPECT_FALSE(check.event(event, 0, files));
  EXPECT_EQ(
      check.endRank({0, 0, 0, 1}, files),
      "fchmod on \"in\", an input that --inputs in-place only reads; use --inputs copy or make");
  InPlaceCheck other;
  EXPECT_FALSE(other.event(event, kNoFile, files));
  EXPECT_FALSE(other.endRank({0, 0, 0, 0}, files));
}

}  // namespace
}  // namespace omnio::replay
