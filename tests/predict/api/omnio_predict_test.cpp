// The C interface of the predictor.
#include <gtest/gtest.h>
#include <omnio_predict.h>

#include <array>
#include <memory>
#include <string>

namespace {

using Predictor = std::unique_ptr<omnio_predictor, decltype(&omnio_predictor_destroy)>;

Predictor made() { return {omnio_predictor_create(), omnio_predictor_destroy}; }

// A read of 100 bytes at each 1,000, for 200 ns each 1,000 ns.
omnio_operation readOf(std::int32_t file, std::int64_t turn) {
  return {.thread = 5,
          .kind = OMNIO_READ,
          .context = 0,
          .file = file,
          .offset = 1000 * turn,
          .bytes = 100,
          .start_ns = 1000 * turn,
          .end_ns = 1000 * turn + 200};
}

TEST(OmnioPredict, TellsAStridedLoopAndItsTimes) {
  const Predictor predictor = made();
  const std::int32_t file = omnio_predictor_file(predictor.get(), "/data//field");
  EXPECT_EQ(file, 0);
  EXPECT_EQ(omnio_predictor_file(predictor.get(), "/data/field"), file);
  EXPECT_STREQ(omnio_predictor_path(predictor.get(), file), "/data/field");
  for (std::int64_t turn = 0; turn < 10; ++turn) {
    const omnio_operation one = readOf(file, turn);
    ASSERT_EQ(omnio_predictor_take(predictor.get(), &one), 0);
  }
  std::array<omnio_predicted, 6> next{};
  ASSERT_EQ(omnio_predictor_next(predictor.get(), 5, next.data(), 6), 6);
  for (std::int64_t i = 0; i < 6; ++i) {
    const omnio_predicted& one = next[static_cast<std::size_t>(i)];
    EXPECT_EQ(one.kind, OMNIO_READ);
    EXPECT_EQ(one.file, file);
    EXPECT_EQ(one.may_be_another, 0);
    EXPECT_EQ(one.offset, 10'000 + 1000 * i);
    EXPECT_EQ(one.bytes, 100);
    EXPECT_EQ(one.weight, 1);
    EXPECT_EQ(one.time_until_ns, 800 + 1000 * i);
  }
  EXPECT_EQ(omnio_predictor_next(predictor.get(), 4, next.data(), 6), 0);
  EXPECT_EQ(omnio_predictor_end_thread(predictor.get(), 5), 0);
  EXPECT_EQ(omnio_predictor_end_thread(predictor.get(), 77), 0);
  EXPECT_EQ(omnio_predictor_next(predictor.get(), 5, next.data(), 6), 0);
}

// A file of the family each turn, read at two places of the program.
TEST(OmnioPredict, TellsFilesThatTakeTurns) {
  const Predictor predictor = made();
  std::int64_t now = 0;
  const auto take = [&](std::int32_t kind, std::int32_t file, std::uint64_t context,
                        std::int64_t offset) {
    const omnio_operation one = {.thread = 0,
                                 .kind = kind,
                                 .context = context,
                                 .file = file,
                                 .offset = offset,
                                 .bytes = 10,
                                 .start_ns = now,
                                 .end_ns = now + 5};
    now += 10;
    ASSERT_EQ(omnio_predictor_take(predictor.get(), &one), 0);
  };
  std::int32_t file = 0;
  for (int turn = 0; turn < 12; ++turn) {
    const std::string path = "dump." + std::to_string(turn);
    file = omnio_predictor_file(predictor.get(), path.c_str());
    take(OMNIO_OPEN, file, 1, 0);
    take(OMNIO_READ, file, 2, 0);
    take(OMNIO_READ, file, 3, 500);
    take(OMNIO_CLOSE, file, 4, 0);
  }
  std::array<omnio_predicted, 4> next{};
  ASSERT_EQ(omnio_predictor_next(predictor.get(), 0, next.data(), 4), 4);
  EXPECT_EQ(next[0].kind, OMNIO_OPEN);
  EXPECT_EQ(next[1].offset, 0);
  EXPECT_EQ(next[2].offset, 500);
  EXPECT_EQ(next[3].kind, OMNIO_CLOSE);
  for (const omnio_predicted& one : next) {
    EXPECT_EQ(one.file, file);
    EXPECT_EQ(one.may_be_another, 1);
  }
}

TEST(OmnioPredict, RefusesWhatCannotBe) {
  const Predictor predictor = made();
  omnio_predictor* const one = predictor.get();
  const std::int32_t file = omnio_predictor_file(one, "/data/a");
  const omnio_operation good = readOf(file, 1);
  omnio_predicted next[1];
  omnio_predictor_destroy(nullptr);
  EXPECT_EQ(omnio_predictor_file(nullptr, "/a"), OMNIO_PREDICT_BAD_ARGUMENT);
  EXPECT_EQ(omnio_predictor_file(one, nullptr), OMNIO_PREDICT_BAD_ARGUMENT);
  EXPECT_EQ(omnio_predictor_file(one, ""), OMNIO_PREDICT_BAD_ARGUMENT);
  EXPECT_EQ(omnio_predictor_path(nullptr, 0), nullptr);
  EXPECT_EQ(omnio_predictor_path(one, file + 1), nullptr);
  EXPECT_EQ(omnio_predictor_path(one, -1), nullptr);
  EXPECT_EQ(omnio_predictor_take(nullptr, &good), OMNIO_PREDICT_BAD_ARGUMENT);
  EXPECT_EQ(omnio_predictor_take(one, nullptr), OMNIO_PREDICT_BAD_ARGUMENT);
  EXPECT_EQ(omnio_predictor_end_thread(nullptr, 0), OMNIO_PREDICT_BAD_ARGUMENT);
  EXPECT_EQ(omnio_predictor_next(nullptr, 5, next, 1), OMNIO_PREDICT_BAD_ARGUMENT);
  EXPECT_EQ(omnio_predictor_next(one, 5, nullptr, 1), OMNIO_PREDICT_BAD_ARGUMENT);
  EXPECT_EQ(omnio_predictor_next(one, 5, next, -1), OMNIO_PREDICT_BAD_ARGUMENT);
  EXPECT_EQ(omnio_predictor_next(one, 5, next, OMNIO_PREDICT_MAX_NEXT + 1),
            OMNIO_PREDICT_BAD_ARGUMENT);
  const auto refused = [&](auto change) {
    omnio_operation bad = good;
    change(bad);
    return omnio_predictor_take(one, &bad) == OMNIO_PREDICT_BAD_ARGUMENT;
  };
  EXPECT_TRUE(refused([](auto& bad) { bad.kind = -1; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.kind = 4; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.file = -1; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.file = 1; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.offset = -1; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.offset = INT64_MAX; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.bytes = -1; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.bytes = INT64_MAX; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.start_ns = INT64_MIN; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.end_ns = bad.start_ns - 1; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.end_ns = INT64_MAX; }));
  // None of them counts.
  EXPECT_EQ(omnio_predictor_next(one, 5, next, 1), 0);
  EXPECT_EQ(omnio_predictor_take(one, &good), 0);
  EXPECT_EQ(omnio_predictor_next(one, 5, next, 0), 0);
  EXPECT_EQ(omnio_predictor_next(one, 5, next, 1), 1);
  EXPECT_EQ(next[0].time_until_ns, -1);
}

// Numbers at the bounds: no sum of them overflows (the sanitizers look on), no offset is negative.
TEST(OmnioPredict, TakesTheLargestNumbers) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  const Predictor predictor = made();
  std::array<omnio_predicted, OMNIO_PREDICT_MAX_NEXT> next{};
  const std::int32_t file = omnio_predictor_file(predictor.get(), "a");
  for (const bool grows : {false, true}) {
    for (std::int64_t turn = 0; turn < 64; ++turn) {
      omnio_operation one = readOf(file, turn);
      one.offset = turn % 8 == 7 ? kMost : kMost / 64 * (grows ? turn : 64 - turn);
      one.bytes = turn % 3 == 0 ? kMost : 0;
      one.start_ns = turn % 2 == 0 ? 0 : (std::int64_t{1} << 62);
      one.end_ns = std::int64_t{1} << 62;
      ASSERT_EQ(omnio_predictor_take(predictor.get(), &one), 0);
      const int count =
          omnio_predictor_next(predictor.get(), 5, next.data(), OMNIO_PREDICT_MAX_NEXT);
      ASSERT_GE(count, 0);
      for (int i = 0; i < count; ++i) {
        ASSERT_GE(next[static_cast<std::size_t>(i)].offset, 0);
        ASSERT_GE(next[static_cast<std::size_t>(i)].time_until_ns, -1);
      }
    }
  }
}

}  // namespace
