// Where POSIX and stream calls read and write: from synthetic traces to the model's offsets.
#include <limits>
#include <string>
#include <vector>

#include "tests/phase_model/position_testing.hpp"

namespace omnio::phases {
namespace {

// What a model leaves out where only that is not known.
const std::vector<std::string> kAppendedBehindUnknownEnd = {
    "the size of files before they were appended to: offsets count from what the rank itself had "
    "seen (/data/f)"};

TEST_F(PositionTest, SequentialCallsGoOnWhereTheLastOneEnded) {
  handle(1, 1);
  for (int i = 0; i < 4; ++i) write(1, 100);
  call("lseek", {1, 50, SEEK_SET}, 50);
  read(1, 10);
  read(1, 10);
  EXPECT_EQ(summary(), "write 0+400 read 50+20");
}

TEST_F(PositionTest, WhatSeekReturnedCounts) {
  handle(1, 1);
  call("lseek", {1, 0, SEEK_END}, 777);
  write(1, 100);
  EXPECT_EQ(summary(), "write 777+100");
}

TEST_F(PositionTest, DuplicatesShareThePositionAndOtherOpensDoNot) {
  handle(1, 1);
  handle(2, 1, 0, wire::Origin::kDuplicated);
  handle(3, 3);
  write(1, 100);
  write(2, 100);
  read(3, 30);
  write(1, 100);
  EXPECT_EQ(summary(), "write 0+200 read 0+30 write 200+100");
}

TEST_F(PositionTest, ExplicitOffsetsLeaveThePosition) {
  handle(1, 1);
  write(1, 100);
  call("pread", {1, 0, 10, 5000}, 10, 10);
  write(1, 100);
  EXPECT_EQ(summary(), "write 0+100 read 5000+10 write 100+100");
}

TEST_F(PositionTest, AppendsGoBehindTheFurthestByte) {
  handle(1, 1, O_APPEND);
  handle(2, 2);
  call("pwrite", {2, 0, 100, 900}, 100, 100);
  write(1, 10);
  write(1, 10);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 900+100 write 1000+20");
  EXPECT_EQ(m.left_out, kAppendedBehindUnknownEnd);
}

TEST_F(PositionTest, AStreamThatWasTruncatedIsAppendedToFromItsBegin) {
  handle(1, 1, O_APPEND | O_TRUNC);
  call("open", {1, O_APPEND | O_TRUNC, 0}, 2);
  write(1, 10);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 0+10");
  EXPECT_TRUE(m.left_out.empty());
}

TEST_F(PositionTest, ATruncateByPathTellsWhereAppendsGo) {
  handle(1, 1, O_APPEND);
  call("truncate", {1, 40}, 0);
  write(1, 10);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 40+10");
  EXPECT_TRUE(m.left_out.empty());
}

TEST_F(PositionTest, ALogThatIsRenamedWhileItIsOpenKeepsItsSize) {
  chunk_.text(2, "/data/f.1");
  handle(1, 1, O_APPEND | O_TRUNC);
  call("open", {1, O_APPEND | O_TRUNC, 0}, 2);
  write(1, 100);
  call("rename", {1, 3}, 0);
  write(1, 10);
  handle(2, 2, O_APPEND);
  call("open", {1, O_APPEND | O_CREAT, 0}, 3);
  write(2, 20);
  write(1, 5);
  handle(3, 3, O_APPEND, wire::Origin::kOpened, 2);
  call("open", {3, O_APPEND, 0}, 4);
  write(3, 7);
  EXPECT_EQ(summary(), "write 0+100 write 100+10 write 0+20 write 110+5 write 115+7");
}

TEST_F(PositionTest, NamesThatAreExchangedExchangeTheirSizes) {
  chunk_.text(2, "/data/g");
  handle(1, 1, O_APPEND | O_TRUNC);
  call("open", {1, O_APPEND | O_TRUNC, 0}, 2);
  write(1, 100);
  call("renameat2", {AT_FDCWD, 1, AT_FDCWD, 3, RENAME_EXCHANGE}, 0);
  handle(2, 2, O_APPEND, wire::Origin::kOpened, 2);
  call("open", {3, O_APPEND, 0}, 3);
  write(2, 20);
  handle(3, 3, O_APPEND);
  call("open", {1, O_APPEND, 0}, 4);
  write(3, 7);
  EXPECT_EQ(summary(), "write 0+100 write 100+20 write 0+7");
}

TEST_F(PositionTest, AFileThatIsMadeAfterAnUnlinkBeginsEmpty) {
  handle(1, 1, O_APPEND | O_TRUNC);
  call("open", {1, O_APPEND | O_TRUNC, 0}, 2);
  write(1, 100);
  call("unlink", {1}, 0);
  write(1, 10);
  handle(2, 2, O_APPEND);
  call("open", {1, O_APPEND | O_CREAT, 0}, 3);
  write(2, 20);
  EXPECT_EQ(summary(), "write 0+100 write 100+10 write 0+20");
}

TEST_F(PositionTest, AppendingMayBeSwitchedOnLater) {
  handle(1, 1);
  write(1, 100);
  call("lseek", {1, 20, SEEK_SET}, 20);
  write(1, 20);
  call("lseek", {1, 0, SEEK_SET}, 0);
  call("fcntl", {1, F_SETFL, O_APPEND}, 0);
  write(1, 10);
  EXPECT_EQ(summary(), "write 0+100 write 20+20 write 100+10");
}

TEST_F(PositionTest, StreamsMoveByWhatTheyMoved) {
  handle(1, 1);
  call("fopen", {1, 2}, 2);
  call("fprintf", {1}, 17);
  call("fwrite", {0, 8, 4, 1}, 3, 32);
  call("fputs", {9, 1}, 1);
  call("fputc", {65, 1}, 65);
  call("fseek", {1, 4, SEEK_SET}, 0);
  call("fgets", {0, 80, 1}, 6);
  call("rewind", {1}, 0);
  call("fgetc", {1}, 66);
  const model::PhaseModel m = model();
  // 17, 24, 9 and 1 bytes behind each other are more than three sizes: one varying phase.
  EXPECT_EQ(summary(m), "write 0+51 read 4+6 read 0+1");
}

TEST_F(PositionTest, AStreamThatSoughtTheEndAppendsUntilItTellsWhere) {
  handle(1, 1);
  call("fseek", {1, 0, SEEK_END}, 0);
  call("fwrite", {0, 1, 9, 1}, 9, 9);
  call("ftell", {1}, 1009);
  call("fwrite", {0, 1, 20, 1}, 20, 20);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 0+9 write 1009+20");
  EXPECT_EQ(m.left_out, kAppendedBehindUnknownEnd);
}

TEST_F(PositionTest, WhatDamageMakesOfNumbersHasNoKnownPlace) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  handle(1, 1, O_APPEND);
  handle(2, 2);
  call("pwrite", {2, 0, 100, kMost}, 100, 100);
  write(1, 10);
  call("lseek", {2, kMost, SEEK_SET}, kMost);
  write(2, kMost);
  write(2, 10);
  call("fseek", {2, kMost, SEEK_CUR}, 0);
  call("fseek", {2, kMost, SEEK_END}, 0);
  call("fread", {0, kMost, kMost, 2}, kMost);
  now_ = std::numeric_limits<std::uint64_t>::max() / 2;
  read(2, 10);
  read(2, 10);
  for (const model::Phase& phase : model().phases) {
    for (const model::PhaseOperation& operation : phase.operations) {
      EXPECT_FALSE(operation.init_offset.known);
    }
  }
}

TEST_F(PositionTest, AScanMakesThePositionUnknownUntilASeek) {
  handle(1, 1);
  call("fscanf", {1}, 1);
  call("fread", {0, 1, 10, 1}, 10, 10);
  call("fseek", {1, 40, SEEK_SET}, 0);
  call("fread", {0, 1, 5, 1}, 5, 5);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "read ?+10 read 40+5");
  EXPECT_EQ(m.left_out.size(), 2U);
}

TEST_F(PositionTest, WhatWasOpenBeforeTheRecordingCountsFromWhereItStood) {
  handle(1, 1, 0, wire::Origin::kInherited);
  write(1, 10);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 0+10");
  ASSERT_EQ(m.left_out.size(), 1U);
  EXPECT_EQ(m.left_out[0],
            "the positions of files that were open before the recording began: offsets count from "
            "there (/data/f)");
}

TEST_F(PositionTest, AFileThatIsOpenedAnewBeginsAnotherPhaseUnlessItGoesOn) {
  handle(1, 1);
  for (int i = 0; i < 4; ++i) write(1, 100);
  handle(2, 2);
  for (int i = 0; i < 4; ++i) write(2, 100);
  handle(3, 3);
  call("lseek", {3, 400, SEEK_SET}, 400);
  for (int i = 0; i < 4; ++i) write(3, 100);
  EXPECT_EQ(summary(), "write 0+400 write 0+800");
}

TEST_F(PositionTest, FailedAndEmptyCallsAreNoAccesses) {
  handle(1, 1);
  write(1, 100);
  write(1, 0);
  chunk_.event(test::numberOf("write"), {.start = now_,
                                         .end = now_ + 5,
                                         .arguments = {1, 0, 100},
                                         .request = 100,
                                         .result = EIO,
                                         .failed = true});
  EXPECT_EQ(summary(), "write 0+100");
}

TEST_F(PositionTest, CallsBelowTheApplicationsAreNotCounted) {
  handle(1, 1);
  chunk_.event(test::numberOf("pwrite"), {.start = 0,
                                          .end = 5,
                                          .arguments = {1, 0, 100, 0},
                                          .request = 100,
                                          .result = 100,
                                          .depth = 1});
  EXPECT_EQ(summary(), "");
}

}  // namespace
}  // namespace omnio::phases
