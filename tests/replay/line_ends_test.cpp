#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "replay/plan/plan.hpp"
#include "tests/replay/schedule_calls.hpp"

namespace omnio::replay {
namespace {

using test::rowOf;

model::ScheduleEvent lineRead(std::string_view call, std::int64_t offset, std::int64_t length,
                              std::int64_t room = 1000) {
  model::ScheduleEvent event;
  event.row = rowOf(call);
  event.offset = offset;
  event.result = length;
  const int size = calls::indexOf(*event.row, calls::Role::kSize);
  if (size >= 0) event.arguments[static_cast<std::size_t>(size)] = room;
  return event;
}

PlannedFile fileOfLines(const std::vector<model::ScheduleEvent>& events) {
  std::vector<PlannedFile> files(1);
  files[0].lines = true;
  LineEnds ends;
  for (const model::ScheduleEvent& event : events) ends.note(event, 0, files[0]);
  ends.moveInto(files);
  return files[0];
}

std::string contentOf(const PlannedFile& file, std::uint64_t offset, std::size_t bytes) {
  std::string content;
  for (std::size_t i = 0; i < bytes; ++i) content += static_cast<char>(i * 7 + offset);
  setLineEnds(file, offset, content);
  return content;
}

TEST(LineEnds, NewlinesStandWhereLinesEndedAndNowhereElse) {
  const PlannedFile file = fileOfLines({lineRead("fgets", 0, 10), lineRead("fgets", 10, 300),
                                        lineRead("getline", 310, 1), lineRead("getline", 311, 5)});
  const std::string content = contentOf(file, 0, 600);
  for (std::size_t i = 0; i < content.size(); ++i) {
    const bool ends_line = i == 9 || i == 309 || i == 310 || i == 315;
    EXPECT_EQ(content[i] == '\n', ends_line) << i;
    EXPECT_NE(content[i], '\0') << i;
  }
}

TEST(LineEnds, APieceFromTheMiddleHasThemToo) {
  const PlannedFile file = fileOfLines({lineRead("fgets", 0, 10), lineRead("fgets", 10, 300)});
  const std::string content = contentOf(file, 300, 20);
  EXPECT_EQ(content.find('\n'), 9U);
  EXPECT_EQ(std::ranges::count(content, '\n'), 1);
}

TEST(LineEnds, WhenFgetsFilledItsRoomNothingIsKnown) {
  const PlannedFile file = fileOfLines({lineRead("fgets", 0, 9, 10), lineRead("fgets", 9, 8, 10)});
  const std::string content = contentOf(file, 0, 30);
  EXPECT_EQ(std::ranges::count(content, '\n'), 1);
  EXPECT_EQ(content.find('\n'), 16U);
}

TEST(LineEnds, OtherDelimitersAreKeptApart) {
  model::ScheduleEvent semicolon = lineRead("getdelim", 0, 4);
  semicolon.arguments[2] = ';';
  const PlannedFile file = fileOfLines({semicolon, lineRead("getline", 0, 8)});
  const std::string content = contentOf(file, 0, 500);
  EXPECT_EQ(content.find(';'), 3U);
  EXPECT_EQ(content.find('\n'), 7U);
  EXPECT_EQ(std::ranges::count(content, ';'), 1);
  EXPECT_EQ(std::ranges::count(content, '\n'), 1);
}

// 2^56 << 8 is 0: where the first lines end.
TEST(LineEnds, PlacesBeyondAllLinesHaveNone) {
  const PlannedFile file = fileOfLines({lineRead("fgets", 0, 10)});
  for (const std::uint64_t offset : {std::uint64_t{1} << 56, UINT64_MAX - 499}) {
    EXPECT_EQ(contentOf(file, offset, 500).find('\n'), std::string::npos) << offset;
  }
}

TEST(LineEnds, WhereEachByteEndsALineNoneIsReplaced) {
  PlannedFile file;
  file.lines = true;
  for (int byte = 1; byte < 256; ++byte) file.delimiters += static_cast<char>(byte);
  EXPECT_EQ(contentOf(file, 0, 500).size(), 500U);
}

TEST(LineEnds, FailedReadsAndUnknownPlacesSayNothing) {
  model::ScheduleEvent failed = lineRead("fgets", 0, 0);
  failed.failed = true;
  const PlannedFile file = fileOfLines({failed, lineRead("fgets", model::kUnknownOffset, 10)});
  EXPECT_TRUE(file.line_ends.empty());
  EXPECT_EQ(contentOf(file, 0, 500).find('\n'), std::string::npos);
}

TEST(LineEnds, WritesOfKnownPlaceTellHowFarTheFileReaches) {
  std::vector<PlannedFile> files(1);
  LineEnds ends;
  model::ScheduleEvent event;
  event.row = rowOf("pwrite");
  event.offset = 1000;
  event.request = 50;
  event.result = 20;  // a short write
  ends.note(event, 0, files[0]);
  event.row = rowOf("fwrite");
  event.offset = 900;
  event.request = 90;
  event.result = 9;
  ends.note(event, 0, files[0]);
  EXPECT_EQ(files[0].written_end, 1020U);
}

}  // namespace
}  // namespace omnio::replay
