#include "replay/plan/room.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "core/calls/table.hpp"
#include "tests/replay/schedule_calls.hpp"

namespace omnio::replay {
namespace {

using calls::Role;
using model::FileNumber;
using model::ScheduleEvent;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class Room : public ::testing::Test {
 protected:
  std::uint32_t file(const char* location, std::uint64_t size = 0, bool exists = false) {
    PlannedFile& file = files.emplace_back();
    file.location = location;
    file.size = size;
    file.exists = exists;
    return static_cast<std::uint32_t>(files.size() - 1);
  }
  void write(std::uint32_t file, std::int64_t offset, std::uint64_t bytes, bool appends = false) {
    ScheduleEvent event = next("pwrite");
    event.offset = offset;
    event.request = bytes;
    event.result = static_cast<std::int64_t>(bytes);
    added.note(event, file, appends);
  }
  void name(const char* call, std::uint32_t file, FileNumber new_file = model::kNoFileNumber) {
    ScheduleEvent event = next(call);
    event.file = FileNumber{file};
    event.new_file = new_file;
    added.note(event, file, false);
  }
  void setNumber(const char* call, std::uint32_t file, Role role, std::int64_t number) {
    ScheduleEvent event = next(call);
    event.arguments[static_cast<std::size_t>(calls::indexOf(*event.row, role))] = number;
    added.note(event, file, false);
  }
  void settle(bool write_overwrite = false) { added.moveInto(files, write_overwrite); }
  std::uint64_t of(std::uint32_t file) const { return files[file].added_bytes; }

  std::vector<PlannedFile> files;
  AddedBytes added;

 private:
  ScheduleEvent next(const char* call) { return test::call(call, now_ += 100); }
  std::int64_t now_ = 0;
};

TEST_F(Room, EachByteThatIsWrittenCountsOnceWhereItWasNotPrepared) {
  const auto fresh = file("fresh");
  write(fresh, 0, 100);
  write(fresh, 200, 100);
  write(fresh, 50, 200);
  const auto grown = file("grown", 10 * kMiB, true);
  files[grown].holes = {{kMiB, 2 * kMiB}};
  write(grown, 0, 3 * kMiB);
  write(grown, static_cast<std::int64_t>(9 * kMiB), 2 * kMiB);
  const auto sparse = file("sparse");
  write(sparse, std::int64_t{1} << 40, kMiB);
  const auto log = file("log", 1000, true);
  write(log, model::kUnknownOffset, 10, true);
  write(log, model::kUnknownOffset, 10, true);
  const auto unknown = file("unknown");
  write(unknown, model::kUnknownOffset, 10);
  settle();
  EXPECT_EQ(of(fresh), 300U);
  EXPECT_EQ(of(grown), 2 * kMiB);
  EXPECT_EQ(of(sparse), kMiB);
  EXPECT_EQ(of(log), 20U);
  EXPECT_EQ(of(unknown), 0U);
  EXPECT_FALSE(files[grown].may_shrink);
}

TEST_F(Room, WhatMayBeGoneAtTheEndDoesNotCount) {
  const auto removed = file("removed");
  write(removed, 0, 100);
  name("unlink", removed);
  const auto cut = file("cut", 50, true);
  write(cut, 0, 100);
  setNumber("open", cut, Role::kFlags, O_WRONLY | O_TRUNC);
  const auto shortened = file("shortened");
  write(shortened, 0, 100);
  setNumber("ftruncate", shortened, Role::kLength, 10);
  const auto replaced = file("replaced");
  const auto draft = file("draft");
  write(replaced, 0, 100);
  write(draft, 0, 100);
  name("rename", draft, FileNumber{replaced});
  const auto link = file("link");
  name("symlink", link);
  const auto below = file("link/below");
  write(below, 0, 100);
  const auto punched = file("punched");
  write(punched, 0, 100);
  setNumber("fallocate", punched, Role::kFlags, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE);
  settle();
  for (const auto each : {removed, cut, shortened, replaced, draft, below, punched}) {
    EXPECT_EQ(of(each), 0U) << files[each].location;
    EXPECT_TRUE(each == below || files[each].may_shrink) << files[each].location;
  }
}

TEST_F(Room, ACutBeforeTheFirstWriteTakesWhatWasPreparedAlone) {
  const auto emptied = file("emptied", 50, true);
  setNumber("open", emptied, Role::kFlags, O_WRONLY | O_TRUNC);
  write(emptied, 0, 100);
  const auto lengthened = file("lengthened", 50, true);
  write(lengthened, 0, 100);
  setNumber("ftruncate", lengthened, Role::kLength, 1000);
  settle();
  EXPECT_EQ(of(emptied), 100U);
  EXPECT_TRUE(files[emptied].may_shrink);
  EXPECT_EQ(of(lengthened), 50U);
  EXPECT_FALSE(files[lengthened].may_shrink);
}

TEST_F(Room, AFileKeepsItsBytesUnderANewName) {
  const auto draft = file("draft");
  const auto final_name = file("final");
  write(draft, 0, 100);
  name("rename", draft, FileNumber{final_name});
  settle();
  EXPECT_EQ(of(draft) + of(final_name), 100U);
}

TEST_F(Room, FilesThatAreWrittenOverArePreparedInFull) {
  const auto out = file("out");
  write(out, 0, 100);
  settle(true);
  EXPECT_EQ(of(out), 0U);
}

}  // namespace
}  // namespace omnio::replay
