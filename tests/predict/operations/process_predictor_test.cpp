// The next operations of the threads of a process, with their files and times.
#include "predict/operations/process_predictor.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/integers.hpp"

namespace omnio::predict {
namespace {

using Coming = ProcessPredictor::Coming;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

Operation called(Kind kind, std::uint32_t file, std::int64_t start_ns, std::int64_t end_ns) {
  return {.context = 1 + static_cast<std::uint64_t>(kind),
          .slot = 0,
          .file = event::FileId{file},
          .kind = kind,
          .start_ns = start_ns,
          .end_ns = end_ns};
}

Operation transferOf(Kind kind, std::uint32_t file, std::int64_t offset, std::int64_t bytes,
                     std::int64_t start_ns, std::int64_t end_ns) {
  Operation one = called(kind, file, start_ns, end_ns);
  one.has_size = one.has_offset = true;
  one.offset = offset;
  one.bytes = bytes;
  return one;
}

// A read of 64 KiB at each MiB, which takes 200 us, and 800 us later the next one.
Operation stridedRead(std::int64_t turn) {
  return transferOf(Kind::kRead, 7, turn * kMiB, 65536, turn * 1'000'000,
                    turn * 1'000'000 + 200'000);
}

TEST(ProcessPredictor, TellsAStridedLoopAndItsTimes) {
  ProcessPredictor predictor;
  for (std::int64_t turn = 0; turn < 10; ++turn) predictor.take(3, stridedRead(turn));
  const std::vector<Coming> coming = predictor.next(3, 8);
  ASSERT_EQ(coming.size(), 8U);
  for (std::size_t i = 0; i < coming.size(); ++i) {
    const auto turn = static_cast<std::int64_t>(i);
    EXPECT_EQ(coming[i].kind, Kind::kRead);
    EXPECT_EQ(coming[i].file, event::FileId{7});
    EXPECT_FALSE(coming[i].may_be_another);
    EXPECT_EQ(coming[i].offset, (10 + turn) * kMiB);
    EXPECT_EQ(coming[i].bytes, 65536);
    EXPECT_EQ(coming[i].weight, 1);
    EXPECT_EQ(coming[i].until_ns, 800'000 + static_cast<double>(turn) * 1'000'000);
  }
}

// A time is the mean of the one expected before and the new one.
TEST(ProcessPredictor, TimesFollowWhatIsNew) {
  ProcessPredictor predictor;
  for (std::int64_t turn = 0; turn < 10; ++turn) predictor.take(0, stridedRead(turn));
  // After a gap of 400 us instead of 800, for 600 us instead of 200.
  predictor.take(0, transferOf(Kind::kRead, 7, 10 * kMiB, 65536, 9'600'000, 10'200'000));
  const std::vector<Coming> coming = predictor.next(0, 2);
  ASSERT_EQ(coming.size(), 2U);
  EXPECT_EQ(coming[0].until_ns, 600'000);
  EXPECT_EQ(coming[1].until_ns, 600'000 + 400'000 + 600'000);
}

TEST(ProcessPredictor, ATimeAfterANewStepIsNotKnown) {
  ProcessPredictor predictor;
  EXPECT_TRUE(predictor.next(0, 4).empty());
  predictor.take(0, stridedRead(0));
  const std::vector<Coming> coming = predictor.next(0, 2);
  ASSERT_EQ(coming.size(), 2U);
  EXPECT_FALSE(coming[0].until_ns);
  EXPECT_FALSE(coming[1].until_ns);
  EXPECT_TRUE(predictor.next(1, 4).empty());
}

// A file of another name each turn, or always the same one.
TEST(ProcessPredictor, TellsWhereAnotherFileOfTheFamilyMayCome) {
  for (const bool is_another : {false, true}) {
    ProcessPredictor predictor;
    std::int64_t now = 0;
    std::uint32_t file = 0;
    for (std::uint32_t turn = 0; turn < 10; ++turn) {
      if (is_another) file = turn;
      predictor.take(0, called(Kind::kOpen, file, now, now + 10));
      predictor.take(0, transferOf(Kind::kWrite, file, 0, 100, now + 20, now + 40));
      if (turn < 9) predictor.take(0, called(Kind::kClose, file, now + 50, now + 60));
      now += 100;
    }
    const std::vector<Coming> coming = predictor.next(0, 3);
    ASSERT_EQ(coming.size(), 3U);
    EXPECT_EQ(coming[0].kind, Kind::kClose);
    EXPECT_FALSE(coming[0].may_be_another);
    EXPECT_EQ(coming[0].until_ns, 10);
    EXPECT_EQ(coming[1].kind, Kind::kOpen);
    EXPECT_EQ(coming[1].may_be_another, is_another);
    EXPECT_EQ(coming[1].until_ns, 10 + 10 + 40);
    EXPECT_EQ(coming[2].kind, Kind::kWrite);
    EXPECT_EQ(coming[2].may_be_another, is_another);
    EXPECT_EQ(coming[2].file, event::FileId{file});
    EXPECT_EQ(coming[2].until_ns, 10 + 10 + 40 + 10 + 10);
  }
}

TEST(ProcessPredictor, AThreadThatBeginsGoesOnWithTheModelOfOneThatHasEnded) {
  ProcessPredictor predictor;
  for (std::int64_t turn = 0; turn < 10; ++turn) predictor.take(1, stridedRead(turn));
  predictor.end(1);
  EXPECT_TRUE(predictor.next(1, 1).empty());
  predictor.take(2, stridedRead(10));
  ASSERT_EQ(predictor.next(2, 1).size(), 1U);
  EXPECT_EQ(predictor.next(2, 1).front().offset, 11 * kMiB);
  EXPECT_EQ(predictor.models().threads(), 1U);
}

// The likeliest path is the first of those that may follow, whatever was taken.
TEST(ProcessPredictor, SaysWhatTheFirstPathSays) {
  ProcessPredictor predictor;
  OperationModel model;
  model.beginRun();
  std::int64_t now = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const std::uint64_t draw = base::mixed(i);
    Operation one = transferOf(draw % 3 == 0 ? Kind::kWrite : Kind::kRead, draw % 2,
                               static_cast<std::int64_t>(draw >> 8 & 7) * 512,
                               static_cast<std::int64_t>(1 + (draw >> 16) % 5) * 512, now, now + 7);
    one.slot = draw % 2;
    one.context = draw % 5 + (i % 7 == 0 ? 10 : 0);
    now += 10;
    predictor.take(0, one);
    model.take(one);
    const std::vector<Path> paths = model.following(8);
    const std::vector<Coming> coming = predictor.next(0, 8);
    ASSERT_FALSE(paths.empty());
    // Up to the first whose context was forgotten, or that cannot be.
    if (coming.size() < 8) {
      const Predicted& end = paths.front().operations[coming.size()];
      ASSERT_TRUE(end.is_unknown || end.segment.begin < 0);
    }
    for (std::size_t k = 0; k < coming.size(); ++k) {
      const Predicted& said = paths.front().operations[k];
      ASSERT_EQ(coming[k].kind, said.kind);
      ASSERT_EQ(coming[k].slot, said.segment.slot);
      ASSERT_EQ(coming[k].offset, said.segment.begin);
      ASSERT_EQ(coming[k].bytes, said.bytes);
      ASSERT_EQ(coming[k].weight, paths.front().weight);
      ASSERT_EQ(coming[k].until_ns, said.until_ns);
    }
  }
}

}  // namespace
}  // namespace omnio::predict
