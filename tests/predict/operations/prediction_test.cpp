#include "predict/operations/prediction.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/integers.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::predict {
namespace {

using test::ChunkBuilder;
using test::EventSpec;

// A rank that opens a file and then writes 100 and 200 bytes in turn: so many operations.
void saveRank(const test::TemporaryDirectory& directory, int rank, int ranks, int operations,
              std::uint64_t lost = 0) {
  const std::uint64_t token = test::kToken + static_cast<std::uint64_t>(rank);
  ChunkBuilder chunk(token, 0, 0, 0, 0);
  chunk.text(0, fmt::format("/data/rank{}", rank));
  chunk.handle({.handle = 1, .fd = 3, .text_slot = 0});
  std::uint64_t now = 0;
  const auto event = [&](std::string_view symbol, EventSpec spec) {
    spec.start = now += 1000;
    spec.end = now += 500;
    chunk.event(test::numberOf(symbol), spec);
  };
  if (operations > 0) event("open", {.arguments = {1, 1, 0}, .result = 2});
  for (int i = 1; i < operations; ++i) {
    const std::int64_t bytes = i % 2 == 0 ? 200 : 100;
    event("write", {.arguments = {1, 0, bytes},
                    .request = static_cast<std::uint64_t>(bytes),
                    .result = bytes});
  }
  event("unlink", {.arguments = {1}});
  test::ContainerBuilder container(token, static_cast<std::uint32_t>(100 + rank));
  container.facts(test::usualFacts(rank, ranks)).chunk(chunk);
  container.ended(chunk.header.event_count + lost, lost);
  container.save(directory / fmt::format("node1.{}.0.omnio", 100 + rank));
}

base::Result<Prediction> predicted(const test::TemporaryDirectory& directory,
                                   const Selection& selection = {}) {
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  return predictOperations(*trace, selection, 4);
}

TEST(Prediction, RanksAndFilesAddUpToTheTotal) {
  const test::TemporaryDirectory directory;
  for (int rank = 0; rank < 3; ++rank) saveRank(directory, rank, 3, 200 + rank);
  const base::Result<Prediction> prediction = predicted(directory);
  ASSERT_TRUE(prediction.ok()) << prediction.failure().sentence;
  ASSERT_EQ(prediction->ranks.size(), 3U);
  ASSERT_EQ(prediction->files.size(), 3U);
  EXPECT_EQ(prediction->files.front().name, "/data/rank2");  // it has most operations
  EXPECT_TRUE(prediction->wholeness.whole);
  RunScores ranks;
  RunScores files;
  for (const RankPrediction& rank : prediction->ranks) ranks.add(rank.scores);
  for (const FilePrediction& file : prediction->files) files.add(file.scores);
  for (std::size_t way = 0; way < kWays; ++way) {
    for (const RunScores* sum : {&ranks, &files}) {
      EXPECT_EQ(sum->whole[way].operations, prediction->total.whole[way].operations);
      EXPECT_EQ(sum->whole[way].offsets_right, prediction->total.whole[way].offsets_right);
      EXPECT_EQ(sum->settled[way].operations, prediction->total.settled[way].operations);
      EXPECT_NEAR(sum->whole[way].hit[2], prediction->total.whole[way].hit[2], 1e-6);
    }
  }
  const Score& own = prediction->total.of(Way::kGrammar);
  EXPECT_EQ(own.operations, 200U + 201 + 202);
  EXPECT_EQ(own.placed, own.operations - 3);
  EXPECT_EQ(own.offsets_right, own.placed);  // the sizes alternate, the bytes are contiguous
  EXPECT_GT(own.sizes_right + 3 * 8, own.sized);
  EXPECT_EQ(prediction->cost.threads, 3U);
  EXPECT_EQ(prediction->cost.models, 3U);
  EXPECT_EQ(prediction->cost.stopped, 3U);
  const Score& settled = prediction->total.settledOf(Way::kGrammar);
  EXPECT_EQ(settled.gap_error_ns, 0);
  EXPECT_EQ(settled.gap_ns / static_cast<double>(settled.gaps), 1000);
}

TEST(Prediction, CurvesAndListsAreOfAllRanks) {
  const test::TemporaryDirectory directory;
  for (int rank = 0; rank < 3; ++rank) saveRank(directory, rank, 3, 200 + rank);
  const base::Result<Prediction> prediction = predicted(directory);
  ASSERT_TRUE(prediction.ok()) << prediction.failure().sentence;
  // 202 operations of the longest thread.
  const ScoreTimeline& curve = prediction->curves.by_operation;
  EXPECT_EQ(curve.width(), 10);
  ASSERT_EQ(curve.bins().size(), 21U);
  Score sum;
  for (const ScoreTimeline::Bin& bin : curve.bins()) sum.add(bin.scores.front());
  const Score& own = prediction->total.of(Way::kGrammar);
  EXPECT_EQ(sum.operations, own.operations);
  EXPECT_EQ(sum.contexts_right, own.contexts_right);
  EXPECT_NEAR(sum.gap_said_ns, own.gap_said_ns, 1e-6);
  EXPECT_EQ(curve.bins()[0].scores.front().operations, 30U);
  EXPECT_EQ(curve.bins()[20].scores.front().operations, 3U);
  EXPECT_EQ(curve.bins()[0].windows.count(), 3U);  // the first window of each rank ends there
  EXPECT_EQ(curve.bins()[10].windows.least(), 10);
  EXPECT_EQ(curve.bins()[10].symbols, prediction->cost.most_symbols);
  const ScoreTimeline& in_time = prediction->curves.by_time;
  EXPECT_EQ(in_time.width(), 2048);  // of 202 * 1500 ns
  EXPECT_EQ(in_time.bins().size(), 148U);

  ASSERT_EQ(prediction->contexts.size(), 3U);
  const ContextSizes& most = prediction->contexts.front();
  EXPECT_EQ(most.file, "/data/rank2");
  EXPECT_TRUE(most.writes);
  EXPECT_EQ(most.sizes.bytes.count(), 201U);
  EXPECT_EQ(most.sizes.different, (std::vector<std::int64_t>{100, 200}));
  EXPECT_EQ(prediction->bytes_moved, 29'800U + 30'000 + 30'100);
  std::uint64_t bytes = 0;
  std::uint64_t accesses = 0;
  for (const FoundPattern& found : prediction->patterns) {
    bytes += found.pattern.bytes;
    accesses += found.pattern.accesses;
  }
  EXPECT_EQ(bytes, prediction->bytes_moved);
  EXPECT_EQ(accesses, 199U + 200 + 201);
  EXPECT_EQ(prediction->patterns.front().kind, Findings::PatternKind::kContiguous);
}

TEST(Prediction, PredictorsSeeWhatDoesNotCount) {
  const test::TemporaryDirectory directory;
  saveRank(directory, 0, 1, 200);
  const base::Result<Prediction> all = predicted(directory);
  const tracefile::Window window{.from_ns = 100 * 1500, .to_ns = 150 * 1500};
  const base::Result<Prediction> part = predicted(directory, {.window = window});
  ASSERT_TRUE(part.ok());
  const Score& own = part->total.of(Way::kGrammar);
  EXPECT_EQ(own.operations, 50U);
  EXPECT_EQ(own.whole_right, 50U);
  EXPECT_EQ(part->cost.symbols, all->cost.symbols);
}

// A rank whose threads read and write at random.
void saveThreads(const test::TemporaryDirectory& directory, std::uint32_t threads, int operations) {
  test::ContainerBuilder container(test::kToken, 100);
  container.facts(test::usualFacts(0, 1));
  std::uint64_t events = 0;
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    ChunkBuilder chunk(test::kToken, thread, 0, 0, 0);
    chunk.text(0, "/data/all");
    chunk.handle({.handle = 1, .fd = 3, .text_slot = 0});
    for (int i = 0; i < operations; ++i) {
      const auto turn = static_cast<std::uint64_t>(i);
      const std::uint64_t draw = base::mixed(thread, turn);
      const auto bytes = static_cast<std::int64_t>(1 + draw % 20);
      chunk.event(test::numberOf(draw >> 20 & 1 ? "write" : "read"),
                  {.start = 1000 * turn + thread,
                   .end = 1000 * turn + thread + 1,
                   .arguments = {1, 0, bytes},
                   .request = static_cast<std::uint64_t>(bytes),
                   .result = bytes});
    }
    events += chunk.header.event_count;
    container.chunk(chunk);
  }
  container.ended(events, 0);
  container.save(directory / "node1.100.0.omnio");
}

TEST(Prediction, ThreadsOfAProcessShareTheBoundOfTheirModels) {
  for (const std::uint32_t threads : {1U, 2U, 16U, 64U}) {
    const test::TemporaryDirectory directory;
    saveThreads(directory, threads, 600);
    const base::Result<Prediction> prediction = predicted(directory);
    ASSERT_TRUE(prediction.ok()) << prediction.failure().sentence;
    EXPECT_TRUE(prediction->wholeness.whole);
    EXPECT_EQ(prediction->cost.threads, threads);
    EXPECT_EQ(prediction->total.of(Way::kGrammar).operations, std::uint64_t{threads} * 600);
    EXPECT_LE(prediction->cost.bytes, std::size_t{1} << 20) << threads;
    EXPECT_EQ(prediction->cost.dropped > 0, threads >= 16) << threads;
    EXPECT_TRUE(prediction->lacksStacks());
    EXPECT_NE(textOf(*prediction).find("Call stacks were not recorded, and may help"),
              std::string::npos);
  }
}

TEST(Prediction, RefusesInASentence) {
  const auto sentence = [](int operations, const Selection& selection) {
    const test::TemporaryDirectory directory;
    saveRank(directory, 0, 1, operations);
    const base::Result<Prediction> prediction = predicted(directory, selection);
    if (prediction) return std::string("none");
    return prediction.failure().sentence.substr(directory.path().native().size());
  };
  EXPECT_EQ(sentence(0, {}),
            ": no call opens, closes, reads or writes a regular file: there is nothing to predict");
  EXPECT_EQ(sentence(1, {}),
            ": there is one operation on files alone, and nothing before it that it could be "
            "predicted from");
  EXPECT_EQ(sentence(5, {.has_path = [](std::string_view) { return false; }}),
            ": none of its 5 operations on files is selected");
  EXPECT_EQ(sentence(2, {}), "none");
}

TEST(Prediction, TheDocumentHasTheSums) {
  const test::TemporaryDirectory directory;
  saveRank(directory, 0, 1, 100, 7);
  const base::Result<Prediction> prediction = predicted(directory);
  ASSERT_TRUE(prediction.ok());
  rapidjson::Document document;
  document.Parse(jsonOf(*prediction).c_str());
  ASSERT_FALSE(document.HasParseError());
  EXPECT_STREQ(document["format"].GetString(), "omnio-prediction");
  EXPECT_EQ(document["version"].GetInt(), 1);
  EXPECT_FALSE(document["trace"]["whole"].GetBool());
  EXPECT_EQ(document["ahead"].Size(), 3U);  // 1, 2 and 4
  EXPECT_EQ(document["stacks"]["operations"].GetUint64(), 0U);
  EXPECT_FALSE(document["stacks"]["may_help"].GetBool());  // hardly anything was wrong
  const auto& own = document["total"]["whole_run"]["grammar"];
  EXPECT_EQ(own["operations"].GetUint64(), 100U);
  EXPECT_EQ(own["hit_ratio"].Size(), 3U);
  EXPECT_EQ(document["ranks"][0]["whole_run"]["grammar"]["operations"].GetUint64(), 100U);
  EXPECT_TRUE(document["total"]["whole_run"]["read_ahead"]["hit_ratio"][0].IsNull());
  EXPECT_NE(textOf(*prediction).find("Whole: no; "), std::string::npos);
}

}  // namespace
}  // namespace omnio::predict
