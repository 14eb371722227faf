// Where POSIX and stream calls read and write, call by call on one open file description.
#include "core/event/file_positions.hpp"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "tests/core/trace_builder.hpp"

namespace omnio::event {
namespace {

using calls::Role;
using Arguments = std::map<Role, std::int64_t>;

class FilePositions : public testing::Test {
 protected:
  // The offset of a read or write; "?12" where it is a guess, "12+" where it was the end.
  std::string call(std::string_view symbol, const Arguments& arguments, std::int64_t result,
                   bool failed = false) {
    Event event;
    event.row = &calls::kTable[test::numberOf(symbol)];
    for (const auto& [role, value] : arguments) {
      event.arguments[static_cast<std::size_t>(calls::indexOf(*event.row, role))] = value;
    }
    event.result = result;
    event.failed = failed;
    event.bytes = bytesMoved(event);
    const auto transfer = follow(event, file_, size_);
    if (!transfer) return "";
    return (transfer->is_known ? "" : "?") + std::to_string(transfer->offset) +
           (transfer->at_end ? "+" : "");
  }
  std::string write(std::int64_t bytes) { return call("write", {}, bytes); }
  std::string read(std::int64_t bytes) { return call("read", {}, bytes); }

  OpenFile file_;
  FileSize size_;
};

TEST_F(FilePositions, ReadsAndWritesMoveOneOffset) {
  EXPECT_EQ(write(10), "0");
  EXPECT_EQ(read(5), "10");
  EXPECT_EQ(call("write", {}, ENOSPC, true), "15");
  EXPECT_EQ(read(0), "15");
  EXPECT_EQ(size_.bytes, 15);
  EXPECT_FALSE(size_.is_known);
}

TEST_F(FilePositions, PositionedCallsLeaveTheOffset) {
  EXPECT_EQ(write(10), "0");
  EXPECT_EQ(call("pread", {{Role::kOffset, 500}}, 7), "500");
  EXPECT_EQ(call("pwrite", {{Role::kOffset, 90}}, 10), "90");
  EXPECT_EQ(write(1), "10");
  EXPECT_EQ(size_.bytes, 507);
}

TEST_F(FilePositions, MinusOneOfPreadv2IsThePosition) {
  EXPECT_EQ(write(10), "0");
  EXPECT_EQ(call("preadv2", {{Role::kOffset, -1}}, 4), "10");
  EXPECT_EQ(call("preadv2", {{Role::kOffset, 100}}, 4), "100");
  EXPECT_EQ(read(1), "14");
  // For pread it is an error like any negative offset.
  call("pread", {{Role::kOffset, -1}}, EINVAL, true);
  EXPECT_EQ(read(1), "15");
}

TEST_F(FilePositions, AnAppendGoesToTheEndAndLeavesTheOffsetBehindIt) {
  file_.appends = true;
  size_.set(100);
  EXPECT_EQ(read(10), "0");
  EXPECT_EQ(write(5), "100+");
  EXPECT_EQ(read(1), "105");
}

TEST_F(FilePositions, BehindAnAppendToAnUnknownSizeTheOffsetIsAGuess) {
  file_.appends = true;
  EXPECT_EQ(write(5), "0+");
  EXPECT_EQ(read(1), "?5");
  EXPECT_EQ(call("lseek", {{Role::kWhence, SEEK_CUR}}, 505), "");
  EXPECT_EQ(read(1), "505");
}

TEST_F(FilePositions, SetflSwitchesAppending) {
  size_.set(50);
  call("fcntl", {{Role::kCommand, F_SETFL}, {Role::kNumber, O_APPEND | O_NONBLOCK}}, 0);
  EXPECT_EQ(write(5), "50+");
  call("fcntl", {{Role::kCommand, F_SETFL}, {Role::kNumber, 0}}, 0);
  call("lseek", {{Role::kWhence, SEEK_SET}}, 0);
  EXPECT_EQ(write(5), "0");
  call("fcntl", {{Role::kCommand, F_SETFL}, {Role::kNumber, O_APPEND}}, EPERM, true);
  EXPECT_EQ(write(5), "5");
}

TEST_F(FilePositions, SeekFromTheEndNeedsTheSize) {
  const Arguments back{{Role::kOffset, -10}, {Role::kWhence, SEEK_END}};
  call("pwrite", {{Role::kOffset, 0}}, 100);
  call("fseek", back, 0);
  EXPECT_EQ(read(1), "?90");
  call("ftruncate", {{Role::kLength, 40}}, 0);
  call("fseek", back, 0);
  EXPECT_EQ(read(1), "30");
  // The result of lseek counts, whatever the size.
  size_ = {};
  call("lseek", back, 777);
  EXPECT_EQ(read(1), "777");
}

TEST_F(FilePositions, SeeksOfStreamsAreFollowed) {
  call("fseek", {{Role::kOffset, 40}, {Role::kWhence, SEEK_SET}}, 0);
  call("fseek", {{Role::kOffset, -5}, {Role::kWhence, SEEK_CUR}}, 0);
  EXPECT_EQ(call("fgetc", {}, 65), "35");
  call("fgetpos", {}, 0);
  EXPECT_EQ(call("fgetc", {}, 65), "36");
  call("fsetpos", {}, 0);
  EXPECT_EQ(call("fgetc", {}, 65), "?37");
  call("fseek", {{Role::kOffset, 7}, {Role::kWhence, SEEK_CUR}}, 0);
  EXPECT_EQ(call("fgetc", {}, 65), "?45");
  call("rewind", {}, 0);
  EXPECT_EQ(call("fgetc", {}, 65), "0");
  call("fseek", {{Role::kOffset, 9}, {Role::kWhence, SEEK_SET}}, EINVAL, true);
  EXPECT_EQ(call("fgetc", {}, 65), "1");
}

TEST_F(FilePositions, APushedBackCharacterIsReadAgainButNotInFrontOfTheFile) {
  call("ungetc", {}, 65);
  EXPECT_EQ(call("fgetc", {}, 65), "0");
  call("ungetc", {}, 65);
  EXPECT_EQ(call("fgetc", {}, 65), "0");
}

TEST_F(FilePositions, AScanLeavesTheOffsetUnknownAlsoWhenNothingMatched) {
  EXPECT_EQ(call("fscanf", {}, 1), "0");
  EXPECT_EQ(call("fgetc", {}, 65), "?0");
  call("rewind", {}, 0);
  EXPECT_EQ(call("fscanf", {}, EILSEQ, true), "0");
  EXPECT_EQ(call("fgetc", {}, 65), "?0");
}

TEST_F(FilePositions, AWriteAtAnUnknownOffsetMayMakeTheFileLonger) {
  size_.set(10);
  call("fsetpos", {}, 0);
  EXPECT_EQ(call("fputc", {}, 65), "?0");
  EXPECT_FALSE(size_.is_known);
}

TEST_F(FilePositions, ReservedSpaceIsWithinTheFileUnlessItsFlagsSayOtherwise) {
  size_.set(10);
  call("fallocate", {{Role::kFlags, FALLOC_FL_KEEP_SIZE}, {Role::kLength, 100}}, 0);
  EXPECT_EQ(size_.bytes, 10);
  call("fallocate", {{Role::kOffset, 50}, {Role::kLength, 100}}, 0);
  EXPECT_EQ(size_.bytes, 150);
  call("posix_fallocate", {{Role::kLength, 20}}, 0);
  EXPECT_EQ(size_.bytes, 150);
  EXPECT_TRUE(size_.is_known);
  call("fallocate", {{Role::kFlags, FALLOC_FL_COLLAPSE_RANGE}, {Role::kLength, 50}}, 0);
  EXPECT_FALSE(size_.is_known);
}

TEST_F(FilePositions, BothEndsOfACopyMove) {
  OpenFile source{.position = 5};
  FileSize source_size;
  EXPECT_EQ(call("sendfile", {}, 30), "0");
  Event event;
  event.row = &calls::kTable[test::numberOf("sendfile")];
  event.bytes = 30;
  event.arguments[static_cast<std::size_t>(calls::indexOf(*event.row, Role::kSourceOffset))] = -1;
  EXPECT_EQ(followSource(event, source, source_size).offset, 5);
  EXPECT_EQ(source.position, 35);
  EXPECT_EQ(source_size.bytes, 35);
  EXPECT_EQ(write(1), "30");
}

TEST_F(FilePositions, ACopyWithOffsetsMovesNeitherEnd) {
  OpenFile source{.position = 5};
  FileSize source_size;
  EXPECT_EQ(call("copy_file_range", {{Role::kOffset, 70}}, 30), "70");
  EXPECT_EQ(size_.bytes, 100);
  Event event;
  event.row = &calls::kTable[test::numberOf("copy_file_range")];
  event.bytes = 30;
  event.arguments[static_cast<std::size_t>(calls::indexOf(*event.row, Role::kSourceOffset))] = 40;
  EXPECT_EQ(followSource(event, source, source_size).offset, 40);
  EXPECT_EQ(source.position, 5);
  EXPECT_EQ(source_size.bytes, 70);
  EXPECT_EQ(write(1), "0");
  EXPECT_EQ(call("copy_file_range", {{Role::kOffset, -1}}, 30), "1");
  EXPECT_EQ(write(1), "31");
}

TEST(OpenFlags, SayWhatModesAndCallsMean) {
  const auto flags = [](std::string_view symbol, std::string_view mode) {
    Event event;
    event.row = &calls::kTable[test::numberOf(symbol)];
    event.texts.fill({.absolute = mode, .raw = mode});
    return openFlags(event);
  };
  EXPECT_EQ(flags("fopen", "r"), O_RDONLY);
  EXPECT_EQ(flags("fopen", "r+"), O_RDWR);
  EXPECT_EQ(flags("fopen", "wx"), O_WRONLY | O_CREAT | O_TRUNC | O_EXCL);
  EXPECT_EQ(flags("fopen", "a+"), O_RDWR | O_CREAT | O_APPEND);
  EXPECT_EQ(flags("creat", ""), O_WRONLY | O_CREAT | O_TRUNC);
  EXPECT_EQ(flags("mkstemp", ""), O_RDWR | O_CREAT | O_EXCL);
}

}  // namespace
}  // namespace omnio::event
