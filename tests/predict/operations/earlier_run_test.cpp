// Models that go on with what they learnt in an earlier run: other addresses, other directories,
// and libraries that were updated in between.
#include "predict/operations/earlier_run.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <string>
#include <utility>
#include <vector>

#include "core/wire/info.hpp"
#include "predict/operations/prediction.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::predict {
namespace {

using test::ChunkBuilder;

// A run of a program whose turn is: open a file, write a header from one place, ten blocks of
// different sizes from others, close.
struct SolverRun {
  std::string directory = "/scratch/run7";
  std::string program = "/usr/bin/solver";
  std::string library_id = "aa11";
  std::uint64_t load = 0x7f0000000000;
  int ranks = 1;
  int turns = 1;
};

void saveRank(const test::TemporaryDirectory& to, const SolverRun& run, int rank) {
  const std::uint64_t token = test::kToken + static_cast<std::uint64_t>(rank);
  ChunkBuilder chunk(token, 0, 0, 0, 0);
  std::uint64_t now = 0;
  const auto event = [&](std::string_view symbol, test::EventSpec spec, std::uint32_t stack) {
    spec.start = now += 1000;
    spec.end = now += 500;
    chunk.useStack(stack).event(test::numberOf(symbol), spec);
  };
  // 1: in the program alone; 2, 3, ...: through the library.
  for (std::uint32_t stack = 1; stack <= 12; ++stack) {
    std::vector<wire::StackFrame> frames = {{.module = 1, .offset = 0x1000 + stack}};
    if (stack > 1) frames.insert(frames.begin(), {.module = 2, .offset = 0x40 + stack});
    chunk.stack(stack, frames);
  }
  chunk.text(0, fmt::format("{}/out.{}", run.directory, rank));
  chunk.handle({.handle = 1, .fd = 3, .text_slot = 0});
  for (int turn = 0; turn < run.turns; ++turn) {
    event("open", {.arguments = {1, 1, 0}, .result = 2}, 1);
    for (std::uint32_t i = 2; i <= 12; ++i) {
      const std::int64_t bytes = i == 2 ? 512 : std::int64_t{100} * i;
      event("write",
            {.arguments = {1, 0, bytes},
             .request = static_cast<std::uint64_t>(bytes),
             .result = bytes},
            i);
    }
    event("close", {.arguments = {1}}, 1);
  }
  auto facts = test::usualFacts(rank, run.ranks);
  facts[wire::info::kProgram] = run.program;
  const std::string module = wire::info::kModulePrefix;
  facts[module + "1"] = fmt::format("{:x} 01ff {}", run.load, run.program);
  facts[module + "2"] =
      fmt::format("{:x} {} /usr/lib/libsolver.so.3", run.load + 0x100000, run.library_id);
  test::ContainerBuilder container(token, static_cast<std::uint32_t>(100 + rank));
  container.facts(facts).chunk(chunk).ended(chunk.header.event_count);
  container.save(to / fmt::format("node1.{}.0.omnio", 100 + rank));
}

base::Result<Prediction> predicted(const SolverRun& run, const SolverRun* earlier) {
  const test::TemporaryDirectory now;
  const test::TemporaryDirectory before;
  for (int rank = 0; rank < run.ranks; ++rank) saveRank(now, run, rank);
  if (earlier == nullptr) {
    return predictOperations(*tracefile::Trace::open(now.path()), {}, 4);
  }
  for (int rank = 0; rank < earlier->ranks; ++rank) saveRank(before, *earlier, rank);
  const base::Result<tracefile::Trace> earlier_trace = tracefile::Trace::open(before.path());
  const EarlierTrace learnt(*earlier_trace, {});
  return predictOperations(*tracefile::Trace::open(now.path()), {}, 4, &learnt);
}

// Where the program and its libraries lie in memory, and which directory the run is in, says
// nothing of what it does.
const SolverRun kEarlier{.directory = "/home/me/first", .load = 0x555500000000, .turns = 3};

TEST(EarlierRun, TheNextRunIsPredictedFromItsFirstOperationOn) {
  const base::Result<Prediction> anew = predicted(SolverRun{}, nullptr);
  const base::Result<Prediction> learnt = predicted(SolverRun{}, &kEarlier);
  ASSERT_TRUE(anew.ok() && learnt.ok());
  const Score& without = anew->total.of(Way::kGrammar);
  const Score& with = learnt->total.of(Way::kGrammar);
  EXPECT_EQ(without.operations, 13U);
  EXPECT_LE(without.whole_right, 1U);
  EXPECT_EQ(with.operations, 13U);
  EXPECT_EQ(with.contexts_right, 13U);
  EXPECT_EQ(with.whole_right, 13U);
  EXPECT_GT(with.hit[2], 12.5 * 100);  // of the next four, too
  ASSERT_TRUE(learnt->learnt_from);
  EXPECT_EQ(learnt->learnt_from->operations, 39U);
  EXPECT_EQ(learnt->learnt_from->contexts, 13U);
  EXPECT_EQ(learnt->learnt_from->again, 13U);
  EXPECT_TRUE(learnt->learnt_from->updated.empty());
  EXPECT_FALSE(anew->learnt_from);
  EXPECT_EQ(anew->with_stacks, 13U);
  EXPECT_FALSE(anew->lacksStacks());
}

TEST(EarlierRun, ALibraryThatWasUpdatedIsNamed) {
  const SolverRun updated{.library_id = "bb22"};
  const base::Result<Prediction> prediction = predicted(updated, &kEarlier);
  ASSERT_TRUE(prediction.ok());
  const LearntFrom& from = *prediction->learnt_from;
  EXPECT_EQ(from.again, 2U);  // the open and the close
  ASSERT_EQ(from.updated.size(), 1U);
  EXPECT_EQ(from.updated.front().path, "/usr/lib/libsolver.so.3");
  EXPECT_EQ(from.updated.front().contexts, 11U);
  EXPECT_NE(textOf(*prediction)
                .find("/usr/lib/libsolver.so.3 was updated since: 11 contexts went through it"),
            std::string::npos);
  rapidjson::Document document;
  document.Parse(jsonOf(*prediction).c_str());
  EXPECT_EQ(document["learnt_from"]["updated"][0]["contexts"].GetUint64(), 11U);
  EXPECT_EQ(document["learnt_from"]["contexts_again"].GetUint64(), 2U);
}

// Contexts that cannot come again are not kept with those of the later run, so that the module is
// named once.
TEST(KeptContexts, ThoseOfAnUpdatedModuleAreLeftOut) {
  const event::Module program{.path = "/usr/bin/solver", .build_id = "01ff"};
  const event::Module old{.path = "/usr/lib/libsolver.so.3", .build_id = "aa11"};
  const event::Module updated{.path = "/opt/lib/libsolver.so.3", .build_id = "bb22"};
  KeptContexts earlier;
  KeptContexts later;
  const auto take = [](KeptContexts& contexts, std::uint64_t context,
                       std::vector<event::StackFrame> frames) {
    const event::CallStack stack{.number = 1, .hash = context, .frames = std::move(frames)};
    contexts.take(context, &stack);
  };
  take(earlier, 1, {{&program, 16}});
  take(earlier, 2, {{&old, 64}, {&program, 16}});
  take(earlier, 3, {{nullptr, 0x7f00}});
  earlier.take(4, nullptr);
  take(later, 5, {{&updated, 72}, {&program, 16}});
  ASSERT_EQ(earlier.updatedIn(later).size(), 1U);
  later.goOnWith(earlier);
  EXPECT_EQ(later.size(), 4U);
  EXPECT_FALSE(later.has(2));
  KeptContexts third;
  take(third, 5, {{&updated, 72}, {&program, 16}});
  EXPECT_TRUE(later.updatedIn(third).empty());
}

TEST(EarlierRun, RanksGoOnWithTheirOwn) {
  SolverRun before = kEarlier;
  before.ranks = 2;
  const SolverRun now{.ranks = 3};
  const base::Result<Prediction> prediction = predicted(now, &before);
  ASSERT_TRUE(prediction.ok());
  ASSERT_EQ(prediction->ranks.size(), 3U);
  for (int rank = 0; rank < 3; ++rank) {
    const RankPrediction& one = prediction->ranks[static_cast<std::size_t>(rank)];
    EXPECT_EQ(one.is_anew, rank == 2);
    const std::uint64_t right = one.scores.of(Way::kGrammar).whole_right;
    EXPECT_EQ(right == 13, rank < 2) << right;
  }
  EXPECT_NE(textOf(*prediction).find("1 of 3 ranks had to begin anew"), std::string::npos);
}

TEST(EarlierRun, AnotherApplicationIsRefused) {
  SolverRun other = kEarlier;
  other.program = "/usr/bin/mesher";
  const base::Result<Prediction> prediction = predicted(SolverRun{}, &other);
  ASSERT_FALSE(prediction.ok());
  EXPECT_NE(prediction.failure().sentence.find("it is a run of mesher, and "), std::string::npos);
  EXPECT_NE(prediction.failure().sentence.find(" one of solver: "), std::string::npos);
}

}  // namespace
}  // namespace omnio::predict
