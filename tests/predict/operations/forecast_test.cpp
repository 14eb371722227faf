// The next operations at a moment of a trace, beside those that came.
#include "predict/operations/forecast.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::predict {
namespace {

// A rank that reads 100 bytes each 1,000 ns, for 400 ns; the first at 1,000 ns after the first
// call.
void saveReads(const test::TemporaryDirectory& directory, int rank, int ranks, int reads) {
  const std::uint64_t token = test::kToken + static_cast<std::uint64_t>(rank);
  test::ChunkBuilder chunk(token, 0, 0, 0, 0);
  chunk.text(0, fmt::format("/data/rank{}", rank));
  chunk.handle({.handle = 1, .fd = 3, .text_slot = 0});
  chunk.event(test::numberOf("unlink"), {.start = 0, .end = 1, .arguments = {1}});
  for (int i = 1; i <= reads; ++i) {
    const std::uint64_t start = 1000 * static_cast<std::uint64_t>(i);
    chunk.event(test::numberOf("read"), {.start = start,
                                         .end = start + 400,
                                         .arguments = {1, 0, 100},
                                         .request = 100,
                                         .result = 100});
  }
  test::ContainerBuilder container(token, static_cast<std::uint32_t>(100 + rank));
  container.facts(test::usualFacts(rank, ranks)).chunk(chunk);
  container.ended(chunk.header.event_count, 0);
  container.save(directory / fmt::format("node1.{}.0.omnio", 100 + rank));
}

base::Result<Forecast> forecastOf(const test::TemporaryDirectory& directory, std::int64_t at_ns,
                                  std::size_t count, std::optional<int> rank = {}) {
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  return forecast(*trace, rank, {}, at_ns, count);
}

TEST(Forecast, TellsWhatComesAndWhen) {
  const test::TemporaryDirectory directory;
  for (int rank = 0; rank < 2; ++rank) saveReads(directory, rank, 2, 50);
  const base::Result<Forecast> forecast = forecastOf(directory, 20'500, 4);
  ASSERT_TRUE(forecast.ok()) << forecast.failure().sentence;
  ASSERT_EQ(forecast->threads.size(), 2U);
  for (int rank = 0; rank < 2; ++rank) {
    const Forecast::Thread& thread = forecast->threads[static_cast<std::size_t>(rank)];
    EXPECT_EQ(thread.rank, rank);
    EXPECT_EQ(thread.last.operation.offset, 1900);  // the twentieth read
    ASSERT_EQ(thread.lines.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      const Forecast::Line& line = thread.lines[i];
      ASSERT_TRUE(line.said && line.came);
      EXPECT_TRUE(line.isRight());
      EXPECT_EQ(line.said->path, fmt::format("/data/rank{}", rank));
      EXPECT_EQ(line.said->operation.offset, 2000 + 100 * static_cast<std::int64_t>(i));
      EXPECT_EQ(forecast->until(thread, *line.said), 500 + 1000 * static_cast<double>(i));
      EXPECT_EQ(forecast->until(*line.came), 500 + 1000 * static_cast<double>(i));
    }
  }
  EXPECT_EQ(forecastOf(directory, 20'500, 4, 1)->threads.size(), 1U);
}

// What is under way is not known yet: it is the first that comes.
TEST(Forecast, AnOperationUnderWayComesFirst) {
  const test::TemporaryDirectory directory;
  saveReads(directory, 0, 1, 50);
  const base::Result<Forecast> forecast = forecastOf(directory, 20'100, 2);
  ASSERT_TRUE(forecast.ok()) << forecast.failure().sentence;
  const Forecast::Thread& thread = forecast->threads.front();
  EXPECT_EQ(thread.last.operation.offset, 1800);
  EXPECT_EQ(thread.lines[0].came->operation.offset, 1900);
  EXPECT_TRUE(thread.lines[0].isRight());
  EXPECT_EQ(forecast->until(thread, *thread.lines[0].said), -100);
  EXPECT_EQ(forecast->until(*thread.lines[0].came), -100);
}

TEST(Forecast, AtTheEndLessComesThanIsSaid) {
  const test::TemporaryDirectory directory;
  saveReads(directory, 0, 1, 50);
  const base::Result<Forecast> forecast = forecastOf(directory, 48'500, 4);
  ASSERT_TRUE(forecast.ok()) << forecast.failure().sentence;
  const Forecast::Thread& thread = forecast->threads.front();
  EXPECT_TRUE(thread.lines[1].isRight());
  EXPECT_TRUE(thread.lines[2].said);
  EXPECT_FALSE(thread.lines[2].came);
  EXPECT_NE(textOf(*forecast).find("thread 0: 100 ns before it ended a read of 100 bytes at 4700"),
            std::string::npos);
  EXPECT_NE(jsonOf(*forecast).find("\"came\": null"), std::string::npos);
}

TEST(Forecast, CountsWhatComesInATimeAndBeforeAPause) {
  const test::TemporaryDirectory directory;
  saveReads(directory, 0, 1, 50);
  base::Result<Forecast> forecast = forecastOf(directory, 20'500, 10);
  ASSERT_TRUE(forecast.ok()) << forecast.failure().sentence;
  const Forecast::Thread& thread = forecast->threads.front();
  // The next begins 500 ns later, and then one each 1,000 ns.
  const Forecast::Counts said = forecast->said(thread, 3'500);
  EXPECT_EQ(said.within, 4U);
  EXPECT_FALSE(said.within_at_least);
  EXPECT_EQ(said.before_pause, 10U);
  EXPECT_TRUE(said.before_pause_at_least);
  EXPECT_EQ(forecast->came(thread, 3'499).within, 3U);
  EXPECT_EQ(forecast->came(thread, 1'000).before_pause, 1U);
  EXPECT_EQ(forecast->said(thread, 500).before_pause, 0U);
  forecast->window_ns = 3'500;
  forecast->shown = 1;
  EXPECT_NE(textOf(*forecast).find("  within 3.50 us: 4 predicted, 4 came; before a pause of 3.50 "
                                   "us: at least 10 predicted, at least 10 came\n"),
            std::string::npos)
      << textOf(*forecast);
  EXPECT_EQ(jsonOf(*forecast).find("\"right\"", jsonOf(*forecast).find("\"right\"") + 1),
            std::string::npos);
  // The log ends after two more.
  forecast = forecastOf(directory, 48'500, 10);
  ASSERT_TRUE(forecast.ok());
  const Forecast::Counts last = forecast->came(forecast->threads.front(), 5'000);
  EXPECT_EQ(last.before_pause, 2U);
  EXPECT_FALSE(last.before_pause_at_least);
}

TEST(Forecast, SaysWhereThereIsNothingToTell) {
  const test::TemporaryDirectory directory;
  saveReads(directory, 0, 1, 50);
  const std::string path = directory.path().native();
  EXPECT_EQ(forecastOf(directory, 1399, 4).failure().sentence,
            path +
                ": the first operation on a file ends at 0.000001 s of the run: at 0.000001 s "
                "there is nothing to predict from");
  EXPECT_EQ(forecastOf(directory, 60'000, 4).failure().sentence,
            path +
                ": the last operation on a file ends at 0.000050 s of the run: at 0.000060 s "
                "none is left to predict");
  EXPECT_FALSE(forecastOf(directory, 20'000, 4, 1).ok());
}

}  // namespace
}  // namespace omnio::predict
