// The models of sizes, offsets and operations, and the baselines beside them.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "core/base/integers.hpp"
#include "predict/operations/baselines.hpp"
#include "predict/operations/operation_model.hpp"
#include "predict/operations/thread_replay.hpp"

namespace omnio::predict {
namespace {

constexpr std::size_t kGrammar = 0;
constexpr std::size_t kContiguous = 2;

Operation transferOf(std::uint64_t context, Slot slot, std::int64_t offset, std::int64_t bytes,
                     Kind kind = Kind::kWrite) {
  return {.context = context,
          .slot = slot,
          .file = event::FileId{slot},
          .kind = kind,
          .has_size = true,
          .has_offset = true,
          .offset = offset,
          .bytes = bytes};
}

// The scores after so many operations, each of which is made when the one before has been taken.
Scores replayed(std::size_t count, const std::function<Operation(std::size_t)>& operation,
                std::size_t from = 0) {
  ProcessModels models;
  ThreadReplay replay(8, models, models.add());
  Scores sum;
  for (std::size_t i = 0; i < count; ++i) {
    const Scores& one = replay.take(operation(i));
    if (i < from) continue;
    for (std::size_t way = 0; way < kWays; ++way) sum[way].add(one[way]);
  }
  return sum;
}

TEST(NumberModel, OneNumberIsThatNumber) {
  NumberModel model;
  EXPECT_FALSE(model.next());
  for (int i = 0; i < 5; ++i) model.take(7);
  EXPECT_EQ(model.next(), 7);
  EXPECT_FALSE(model.hasSeveral());
}

TEST(NumberModel, SeveralNumbersHaveAGrammar) {
  NumberModel model;
  const std::vector<std::int64_t> period = {8, 8, -3, 8, 100};
  for (std::size_t i = 0; i < 40; ++i) {
    if (i >= 15) {
      NumberModel::Ahead ahead = model.ahead();
      for (std::size_t k = 0; k < 7; ++k) ASSERT_EQ(ahead.next(), period[(i + k) % 5]) << i;
      ASSERT_EQ(model.next(), period[i % 5]) << i;
    }
    model.take(period[i % 5]);
  }
}

TEST(NumberModel, MoreThan24AreGivenUp) {
  NumberModel model;
  for (std::int64_t i = 0; i < 24; ++i) model.take(i);
  EXPECT_FALSE(model.hasTooMany());
  model.take(24);
  EXPECT_TRUE(model.hasTooMany());
  EXPECT_FALSE(model.next());
  EXPECT_EQ(model.memoryBytes(), 0U);
}

TEST(SizeModel, OfTooManySizesTheAverageIsKept) {
  SizeModel model;
  double sum = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto size = static_cast<std::int64_t>(1000 + base::mixed(i) % 1000);
    model.take(size);
    sum += static_cast<double>(size);
  }
  EXPECT_NEAR(model.moments().average(), sum / 1000, 1e-6);
  EXPECT_GE(model.moments().least(), 1000);
  EXPECT_LT(model.moments().most(), 2000);
  EXPECT_NEAR(model.moments().variance(), 1000 * 1000 / 12.0, 8000);
}

// Four ranks' shares, each of which changes a little from turn to turn.
TEST(SizeModel, SharesThatDriftAreNearTheTurnBefore) {
  SizeModel model;
  double error = 0;
  for (std::int64_t i = 0; i < 400; ++i) {
    const std::int64_t size = 1000 * (1 + i % 4) + i / 4;
    if (i >= 200) error += std::abs(static_cast<double>(model.next() - size)) / 1000;
    SizeModel::Ahead ahead(model);
    if (i >= 200) {
      for (std::int64_t k = 0; k < 4; ++k) {
        EXPECT_NEAR(static_cast<double>(ahead.next()),
                    static_cast<double>(1000 * (1 + (i + k) % 4) + (i + k) / 4), 2.5);
      }
    }
    model.take(size);
  }
  EXPECT_LT(error / 200, 0.01);
}

TEST(OperationModel, LearnsALoopOverFilesWithOtherNames) {
  // Open, three writes of 8 and 24 bytes, close; the files have one slot.
  const Scores scores = replayed(
      500,
      [](std::size_t i) {
        Operation one = transferOf(3, 0, 0, 0);
        one.file = event::FileId{static_cast<std::uint32_t>(i / 5)};
        const std::size_t step = i % 5;
        if (step == 0 || step == 4) {
          return Operation{.context = step,
                           .slot = 0,
                           .file = one.file,
                           .kind = step == 0 ? Kind::kOpen : Kind::kClose};
        }
        one.offset = step == 1 ? 0 : 8 + 24 * (static_cast<std::int64_t>(step) - 2);
        one.bytes = step == 1 ? 8 : 24;
        return one;
      },
      20);
  const Score& own = scores[kGrammar];
  EXPECT_EQ(own.whole_right, own.operations);
  EXPECT_EQ(own.offsets_right, own.placed);
  EXPECT_EQ(own.sizes_right, own.sized);
  EXPECT_EQ(own.size_error, 0);
  for (std::size_t distance = 0; distance < 4; ++distance) {
    EXPECT_NEAR(own.hit[distance] / static_cast<double>(own.hits), 100, 1e-9) << distance;
  }
}

// Two variables of other sizes in one file, each behind its own last part.
TEST(OperationModel, LearnsVariablesThatAlternate) {
  const Scores scores = replayed(
      2000,
      [](std::size_t i) {
        const auto turn = static_cast<std::int64_t>(i / 2);
        return i % 2 == 0 ? transferOf(1, 0, turn * 4096, 4096)
                          : transferOf(1, 0, (std::int64_t{1} << 30) + turn * 4096, 1024);
      },
      20);
  const Score& own = scores[kGrammar];
  EXPECT_EQ(own.offsets_right, own.placed);
  EXPECT_EQ(own.whole_right, own.operations);
  EXPECT_EQ(scores[kContiguous].offsets_right, 0U);
}

TEST(OperationModel, AppendedLogGoesOnAfterAnOpen) {
  const Scores scores = replayed(
      300,
      [](std::size_t i) {
        if (i % 3 == 0) return Operation{.context = 1, .file = event::FileId{0}};
        if (i % 3 == 2) {
          return Operation{.context = 2, .file = event::FileId{0}, .kind = Kind::kClose};
        }
        const auto turn = static_cast<std::int64_t>(i / 3);
        return transferOf(3, 0, turn * (turn + 1) / 2 * 10, 10 * (turn + 1));
      },
      30);
  EXPECT_EQ(scores[kGrammar].offsets_right, scores[kGrammar].placed);
}

// Whatever the input, it is hardly worse than "contiguous". Where the file is drawn by chance, so
// is the difference of the hit ratios for one seed.
TEST(OperationModel, IsNoWorseThanContiguous) {
  constexpr double kMargin = 0.01;
  double hits = 0;
  double own_hit = 0;
  double contiguous_hit = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    std::int64_t end[4] = {};
    const Scores scores = replayed(2000, [&](std::size_t i) {
      const std::uint64_t draw = base::mixed(seed, i);
      const auto slot = static_cast<Slot>(draw % (1 + seed % 4));
      const std::uint64_t jump = (draw >> 8) % 100;
      std::int64_t offset = end[slot];
      if (jump < seed * 6) offset = static_cast<std::int64_t>((draw >> 20) % (3 + seed * 7)) * 512;
      const auto bytes = static_cast<std::int64_t>(512 * (1 + (draw >> 40) % (1 + seed % 5)));
      end[slot] = offset + bytes;
      return transferOf(slot, slot, offset, bytes);
    });
    const Score& own = scores[kGrammar];
    const Score& contiguous = scores[kContiguous];
    EXPECT_GE(static_cast<double>(own.offsets_right) + kMargin * static_cast<double>(own.placed),
              static_cast<double>(contiguous.offsets_right))
        << seed;
    hits += static_cast<double>(own.hits);
    own_hit += own.hit[0];
    contiguous_hit += contiguous.hit[0];
  }
  EXPECT_GE(own_hit + 100 * kMargin * hits, contiguous_hit);
}

// Contexts, files and numbers that never come again.
TEST(OperationModel, MemoryIsBounded) {
  OperationModel model;
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    const auto slot = static_cast<Slot>(i % 20'000);
    model.take(transferOf(base::mixed(i), slot, static_cast<std::int64_t>(base::mixed(i) >> 20),
                          static_cast<std::int64_t>(1 + i % 20)));
    ASSERT_LE(model.memoryBytes(), OperationModel::kMostBytes);
  }
  // Many contexts that all have grammars.
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    const std::uint64_t context = base::mixed(i / 7) % 300;
    model.take(transferOf(context, 1, static_cast<std::int64_t>(base::mixed(i) % 20 * 100),
                          static_cast<std::int64_t>(1 + base::mixed(i) % 23)));
    ASSERT_LE(model.memoryBytes(), OperationModel::kMostBytes);
  }
}

// After a header comes one of two records, by chance, and after each a trailer of its own: each of
// the two is a path, and the weights of these are those of what comes next.
TEST(OperationModel, FollowsAPathForEachOperationThatMayComeNext) {
  OperationModel model;
  int both = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t kind = base::mixed(i) % 2;
    model.take(transferOf(1, 0, 0, 8));
    const std::vector<Predicted> next = model.next();
    const std::vector<Path> paths = model.following(2);
    ASSERT_EQ(paths.size(), next.size());
    double sum = 0;
    for (std::size_t k = 0; k < paths.size(); ++k) {
      EXPECT_EQ(paths[k].weight, next[k].weight);
      ASSERT_EQ(paths[k].operations.size(), 2U);
      EXPECT_EQ(paths[k].operations.front().context, next[k].context);
      if (next[k].context >= 10) {
        EXPECT_EQ(paths[k].operations.back().context, next[k].context + 10);
      }
      sum += paths[k].weight;
    }
    EXPECT_DOUBLE_EQ(sum, paths.empty() ? 0 : 1);
    if (paths.size() == 2) ++both;
    model.take(transferOf(10 + kind, 1, 0, 100));
    model.take(transferOf(20 + kind, 2, 0, 10));
  }
  EXPECT_GT(both, 100);
}

TEST(OperationModel, TellsTheTimeUntilTheNextOperation) {
  OperationModel model;
  Operation one = transferOf(1, 0, 0, 8);
  std::int64_t now = 0;
  for (const std::int64_t gap : {100, 100, 300}) {
    one.start_ns = now + gap;
    one.end_ns = now = one.start_ns + 10;
    model.take(one);
  }
  // T <- (T + new) / 2, of the gaps 100 and 300: the first has none before it.
  EXPECT_EQ(model.gapBefore(one), 200);
}

TEST(Repeat, SaysTheLastOperation) {
  Repeat same(Way::kSameAsLast);
  Repeat contiguous(Way::kContiguous);
  EXPECT_TRUE(same.next().empty());
  const Operation one = transferOf(1, 0, 100, 10);
  same.take(one);
  contiguous.take(one);
  EXPECT_EQ(same.next().front().segment.begin, 100);
  EXPECT_EQ(contiguous.following(3).front().operations.back().segment.begin, 130);
  EXPECT_EQ(contiguous.offsetOf(one), 110);
  EXPECT_EQ(same.sizeOf(one), 10);
  EXPECT_EQ(contiguous.offsetOf(transferOf(1, 7, 0, 1)), 0);
}

TEST(Repeat, KeepsTheDistanceOfAContext) {
  Repeat same(Way::kSameDistance);
  same.take(transferOf(1, 0, 100, 10));
  same.take(transferOf(2, 0, 150, 10));  // 40 behind the end
  same.take(transferOf(1, 0, 160, 10));  // right behind it
  EXPECT_EQ(same.offsetOf(transferOf(2, 0, 0, 10)), 210);
  EXPECT_EQ(same.offsetOf(transferOf(1, 0, 0, 10)), 170);
  EXPECT_EQ(same.offsetOf(transferOf(3, 0, 0, 10)), 170);  // a context that is new
}

}  // namespace
}  // namespace omnio::predict
