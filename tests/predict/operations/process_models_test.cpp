// The models of the threads of one process within their bound.
#include "predict/operations/process_models.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/integers.hpp"
#include "predict/operations/thread_replay.hpp"

namespace omnio::predict {
namespace {

constexpr std::size_t kOwn = 0;  // the grammar

Operation written(std::uint64_t context, std::int64_t offset, std::int64_t bytes) {
  return {.context = context,
          .slot = static_cast<Slot>(context),
          .file = event::FileId{static_cast<std::uint32_t>(context)},
          .kind = Kind::kWrite,
          .has_size = true,
          .has_offset = true,
          .offset = offset,
          .bytes = bytes};
}

// Contexts, sizes and offsets by chance: the most that a model can ask for.
Operation irregular(std::uint64_t thread, std::uint64_t i) {
  const std::uint64_t draw = base::mixed(thread, i);
  return written(draw % 12, static_cast<std::int64_t>(draw >> 8 & 15),
                 static_cast<std::int64_t>(1 + (draw >> 16) % 20));
}

// Two variables in turn, whose planes have other sizes.
Operation regular(std::uint64_t i) {
  const auto turn = static_cast<std::int64_t>(i / 2);
  return i % 2 == 0 ? written(1, turn * 12288, 12288)
                    : written(1, (std::int64_t{1} << 40) + turn * 4096, 4096);
}

TEST(ProcessModels, StayWithinOneBoundWhateverTheThreads) {
  for (const std::size_t threads : {2U, 16U, 64U, 1000U}) {
    ProcessModels models;
    for (std::size_t thread = 0; thread < threads; ++thread) models.add();
    const std::size_t operations = threads < 1000 ? 40'000 : 20'000;
    for (std::size_t i = 0; i < operations; ++i) {
      const std::size_t thread = base::mixed(i) % threads;
      models.take(thread, irregular(thread, i));
      ASSERT_LE(models.memoryBytes(), ProcessModels::kMostBytes) << threads << " threads, " << i;
    }
    std::size_t sum = 0;
    for (std::size_t thread = 0; thread < threads; ++thread) sum += models.of(thread).memoryBytes();
    // A model of an empty grammar is made for each thread that had none.
    EXPECT_LE(models.memoryBytes(), sum) << threads;
    EXPECT_LE(models.memoryBytes(), models.mostBytes());
    EXPECT_GT(models.mostBytes(), ProcessModels::kMostBytes / 2) << threads;
  }
}

// What the process has is known by the sum of its models at every moment.
TEST(ProcessModels, CountWhatTheirModelsTake) {
  ProcessModels models;
  for (int thread = 0; thread < 16; ++thread) models.add();
  for (std::size_t i = 0; i < 20'000; ++i) {
    models.take(i % 16, irregular(i % 16, i));
    if (i < 16 || i % 100 != 0) continue;
    std::size_t sum = 0;
    for (std::size_t thread = 0; thread < 16; ++thread) sum += models.of(thread).memoryBytes();
    ASSERT_EQ(models.memoryBytes(), sum);
  }
}

TEST(ProcessModels, OneThreadHasAModelAsIfItWereAlone) {
  ProcessModels models;
  OperationModel alone;
  models.add();
  for (std::size_t i = 0; i < 20'000; ++i) {
    const Operation operation = irregular(3, i);
    const std::vector<Predicted> one = models.of(0).next();
    const std::vector<Predicted> other = alone.next();
    ASSERT_EQ(one.size(), other.size()) << i;
    for (std::size_t k = 0; k < one.size(); ++k) {
      ASSERT_EQ(one[k].context, other[k].context) << i;
      ASSERT_EQ(one[k].segment.begin, other[k].segment.begin) << i;
      ASSERT_EQ(one[k].bytes, other[k].bytes) << i;
    }
    models.take(0, operation);
    alone.take(operation);
    ASSERT_EQ(models.memoryBytes(), alone.memoryBytes()) << i;
  }
}

// Threads that learn nothing take no memory from those that do.
TEST(ProcessModels, RegularThreadsKeepTheirModelsBesideIrregularOnes) {
  for (const std::size_t threads : {2U, 16U, 64U}) {
    ProcessModels models;
    std::vector<std::unique_ptr<ThreadReplay>> replays;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      replays.push_back(std::make_unique<ThreadReplay>(1, models, models.add()));
    }
    Score regular_score;
    const std::size_t turns = 600;
    for (std::size_t turn = 0; turn < turns; ++turn) {
      for (std::size_t thread = 0; thread < threads; ++thread) {
        const bool is_regular = thread % 2 == 0;
        const Scores& one =
            replays[thread]->take(is_regular ? regular(turn) : irregular(thread, turn));
        if (is_regular && turn >= 20) regular_score.add(one[kOwn]);
      }
      ASSERT_LE(models.memoryBytes(), ProcessModels::kMostBytes);
    }
    EXPECT_EQ(regular_score.operations, (turns - 20) * ((threads + 1) / 2));
    // A regular model is largest while it learns: among 64 it may have to begin again.
    const std::uint64_t wrong = regular_score.operations - regular_score.whole_right;
    EXPECT_LE(wrong, threads < 64 ? 0 : regular_score.operations / 100) << threads << " threads";
  }
}

// A thread that has ended, or waits, leaves its memory to the others.
TEST(ProcessModels, ModelsOfIdleThreadsGiveWay) {
  ProcessModels models;
  const std::size_t threads = 400;
  for (std::size_t thread = 0; thread < threads; ++thread) models.add();
  const auto run = [&](std::size_t from, std::size_t to, std::size_t turns) {
    for (std::size_t i = 0; i < turns; ++i) {
      for (std::size_t thread = from; thread < to; ++thread) models.take(thread, regular(i));
    }
  };
  run(0, threads, 100);
  run(threads - 20, threads, 1000);
  for (std::size_t thread = threads - 20; thread < threads; ++thread) {
    const std::vector<Predicted> next = models.of(thread).next();
    ASSERT_EQ(next.size(), 1U) << thread;
    EXPECT_EQ(next.front().segment.begin, regular(1000).offset) << thread;
  }
}

TEST(OperationModel, GivesHalfOfItsMemoryBackAndGoesOn) {
  OperationModel model;
  for (std::uint64_t i = 0; i < 5000; ++i) model.take(irregular(1, i));
  while (true) {
    const std::size_t before = model.memoryBytes();
    model.halve();
    if (model.memoryBytes() > before / 2) break;
    model.take(irregular(1, 7));
  }
  // Little is left but the object itself and a small grammar.
  EXPECT_LE(model.grammar().symbolCount(), pattern::StarSequitur::kLeastSymbols);
  EXPECT_LT(model.memoryBytes(), std::size_t{12} << 10);
  for (std::uint64_t i = 0; i < 100; ++i) {
    if (i >= 20) {
      const std::vector<Predicted> next = model.next();
      ASSERT_FALSE(next.empty()) << i;
      EXPECT_EQ(next.front().segment.begin, regular(i).offset) << i;
    }
    model.take(regular(i));
  }
}

}  // namespace
}  // namespace omnio::predict
