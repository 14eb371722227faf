// The path that each access of a run took is known (three_paths.hpp), and is found again from a
// calibration and the trace. Times are those of the trace: nothing depends on this machine.
#include "predict/access_time/slow_paths.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "core/tracefile/completeness.hpp"
#include "predict/access_time/at_once.hpp"
#include "predict/access_time/residual_classes.hpp"
#include "preprocess/preprocess.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/predict/access_time/three_paths.hpp"
#include "tests/preprocess/traced_run.hpp"

namespace omnio::access_time {
namespace {

using test::RandIndex;
using test::ThreePaths;

predict::Calibration calibrationBy(const Samples& samples) {
  predict::Calibration calibration;
  calibration.target.path = "/scratch";
  calibration.target.file_system = "ext4";
  calibration.target.host = "node1";
  std::map<predict::CellKey, predict::Cell> cells;
  for (const Sample& sample : samples) {
    const predict::CellKey key{.operation = sample.access.operation,
                               .order = sample.access.order,
                               .bytes = static_cast<std::uint64_t>(sample.access.bytes)};
    predict::Cell& cell = cells[key];
    cell.key = key;
    if (cell.runs.empty() || cell.runs.back().round != static_cast<std::uint32_t>(sample.round)) {
      cell.runs.push_back({.round = static_cast<std::uint32_t>(sample.round)});
    }
    cell.all.add(static_cast<std::int64_t>(sample.seconds * 1e9));
    cell.runs.back().times_ns.push_back(static_cast<std::int64_t>(sample.seconds * 1e9));
    cell.runs.back().offsets.push_back(sample.access.delta_offset);
  }
  for (auto& [key, cell] : cells) calibration.cells.push_back(std::move(cell));
  return calibration;
}

class SlowPathsTest : public ::testing::Test {
 protected:
  // Threads that read one after the other, each a file of its own from its begin.
  static constexpr int kThreads = 4;
  static constexpr std::uint64_t kReads = 5000;
  struct Read {
    double bytes = 0;
    ThreePaths::Drawn drawn;
  };

  void run(const ThreePaths& target) {
    omnio::test::ContainerBuilder container(omnio::test::kToken);
    std::uint64_t now = 1'000'000, events = 0;
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
      preprocess::Thread log(omnio::test::kToken, thread);
      log.open(now, now + 1000, "/scratch/" + std::to_string(thread), O_RDONLY, 1);
      now += 2000;
      std::int64_t offset = 0;
      for (std::uint64_t i = 0; i < kReads; ++i) {
        const std::uint64_t number = thread * kReads + i;
        const auto bytes = std::int64_t{4096} << (base::mixed(target.seed, number) % 11);
        const ThreePaths::Drawn drawn = target.request(static_cast<double>(bytes), number);
        const auto end = now + static_cast<std::uint64_t>(drawn.seconds * 1e9);
        log.data("pread64", now, end, 1, bytes, offset);
        now = end + 100;
        offset += bytes;
        reads_.push_back({static_cast<double>(bytes), drawn});
      }
      container.chunk(log.chunk());
      events += log.events();
    }
    container.ended(events).save(directory_ / "host.4711.0.omnio");
  }

  base::Result<SlowPaths> found(const ThreePaths& target, const predict::Calibration& calibration) {
    reads_.clear();
    run(target);
    const auto times = AccessTimes::learned(calibration, "c.json", ModelKind::kTable);
    if (!times) return times.failure();
    const auto trace = tracefile::Trace::open(directory_.path());
    if (!trace) return trace.failure();
    SlowPathFinder finder(*times);
    const preprocess::SchedulePass passes[] = {{finder.survey(), ""}, {finder.accesses(), ""}};
    const auto passed = preprocess::passSchedule(*trace, tracefile::assess(*trace),
                                                 {.order = model::Order::kNone}, passes);
    if (!passed) return passed.failure();
    auto paths = finder.found(calibration, "c.json", "run.trace");
    if (!paths) return paths;
    // The class of each read follows from its time.
    index_ = {};
    counts_.assign(paths->classes.size(), 0);
    for (const Read& read : reads_) {
      const double predicted =
          times->seconds({.order = AccessOrder::kSequential, .bytes = read.bytes});
      const double factor = std::floor(read.drawn.seconds * 1e9) * 1e-9 / predicted;
      std::size_t number = paths->classes.size() - 1;
      while (number > 0 && factor < paths->classes[number].from_factor) --number;
      index_.add(read.drawn.path, number);
      ++counts_[number];
    }
    return paths;
  }

  omnio::test::TemporaryDirectory directory_;
  std::vector<Read> reads_;
  RandIndex index_;
  std::vector<std::uint64_t> counts_;
};

class ThreePathsTest : public SlowPathsTest,
                       public ::testing::WithParamInterface<std::tuple<bool, double>> {};

TEST_P(ThreePathsTest, AreFoundWithTheirShares) {
  const auto [is_rare, deviation] = GetParam();
  ThreePaths target;
  if (!is_rare) target.shares = {0.6, 0.3, 0.1};
  target.deviations[0] = deviation;
  const auto paths = found(target, calibrationBy(target.samples(1000)));
  ASSERT_TRUE(paths) << paths.failure().sentence;
  ASSERT_EQ(paths->classes.size(), 3U);
  EXPECT_EQ(paths->accesses, kThreads * kReads);
  double seconds = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const AccessClass& one = paths->classes[i];
    EXPECT_EQ(one.count, counts_[i]) << i;
    EXPECT_NEAR(static_cast<double>(one.count) / (kThreads * kReads), target.shares[i], 0.05) << i;
    EXPECT_NEAR(std::accumulate(one.when.begin(), one.when.end(), 0.0), 1, 1e-9);
    EXPECT_EQ(one.operations, (AccessClass::Parts{{"read", 1.0}}));
    EXPECT_EQ(one.ranks, (AccessClass::Parts{{"0", 1.0}}));
    EXPECT_EQ(one.files.size(), 3U);
    EXPECT_NEAR(one.median_bytes, 131072, 65536);
    seconds += one.seconds;
  }
  EXPECT_NEAR(paths->classes[1].median_factor / paths->classes[0].median_factor, 10, 1.5);
  EXPECT_NEAR(paths->classes[2].median_factor / paths->classes[1].median_factor, 3, 0.4);
  EXPECT_NEAR(seconds, paths->compared_s, 1e-9 * seconds);
  EXPECT_EQ(paths->inside_s, paths->compared_s);
  EXPECT_GE(index_.adjusted(), 0.85);
  RecordProperty("adjusted_rand_index", std::to_string(index_.adjusted()));
}

// The target of the issue twice: with one deviation, where 2 and 6 ms overlap by 5 %, and with that
// of the first path at which it overlaps the second by as much.
INSTANTIATE_TEST_SUITE_P(Shares, ThreePathsTest,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(0.28, ThreePaths::kWide)));

TEST_F(SlowPathsTest, SaysWhatAClassIsInText) {
  ThreePaths target;
  target.shares = {0.9, 0.1, 0};
  const auto paths = found(target, calibrationBy(target.samples(200)));
  ASSERT_TRUE(paths) << paths.failure().sentence;
  const std::string text = textOf(*paths);
  EXPECT_TRUE(
      text.starts_with("Paths of accesses, beside the model of c.json (/scratch (ext4) on "
                       "node1, cached)\n20000 accesses with 100.0 % of the I/O time; 100.0 "
                       "% of that is within the calibrated range\n"))
      << text;
  EXPECT_TRUE(
      text.ends_with("\nA class explains what was measured: it follows from the time of an "
                     "access, and does not predict the next one.\n"))
      << text;
}

TEST_F(SlowPathsTest, RefusesACalibrationOfAnotherCacheStateOrWithoutReads) {
  const ThreePaths target;
  predict::Calibration calibration = calibrationBy(target.samples(100));
  calibration.cache = predict::CacheState::kDirect;
  EXPECT_EQ(found(target, calibration).failure().sentence,
            "c.json: it was measured with the cache state direct, and 100 % of the bytes of "
            "run.trace are without O_DIRECT");
  calibration.cache = predict::CacheState::kCached;
  for (predict::Cell& cell : calibration.cells) cell.key.operation = CellOperation::kWrite;
  EXPECT_EQ(found(target, calibration).failure().sentence,
            "c.json: no read was measured, and run.trace has some");
}

// Residuals of so many paths; the model is off by some percent, size by size.
std::size_t classesOfPaths(const ThreePaths& target, std::uint64_t accesses) {
  ResidualHistogram residuals;
  for (std::uint64_t i = 0; i < accesses; ++i) {
    const double off = 0.9 + 0.02 * static_cast<double>(base::mixed(i) % 11);
    residuals.add(target.request(0, i).seconds / (off * 5e-4));
  }
  return classesOf(residuals).size();
}

TEST(ClassesOf, OnePathIsOneClassAndTwoAreTwo) {
  for (const double deviation : {0.28, ThreePaths::kWide}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      ThreePaths target{.deviations = {deviation, 0.28, 0.28}, .seed = seed};
      target.shares = {1, 0, 0};
      EXPECT_EQ(classesOfPaths(target, 3000), 1U) << seed;
      target.shares = {0.85, 0.15, 0};
      EXPECT_EQ(classesOfPaths(target, 3000), 2U) << seed;
    }
  }
}

TEST(ClassesOf, ARarePathIsAClassAndAFewAccessesAreNone) {
  ThreePaths target{.shares = {0.999, 0.001, 0}, .deviations = {0.28, 0.28, 0.28}, .seed = 1};
  EXPECT_EQ(classesOfPaths(target, 100'000), 2U);
  EXPECT_EQ(classesOfPaths(target, 3000), 1U);
  EXPECT_EQ(classesOf({}), (std::vector<std::size_t>{0}));
}

TEST(ClassesOf, EqualTimesAreOneClass) {
  ResidualHistogram residuals;
  for (int i = 0; i < 1000; ++i) residuals.add(1);
  EXPECT_EQ(classesOf(residuals).size(), 1U);
  for (int i = 0; i < 100; ++i) residuals.add(4);
  EXPECT_EQ(classesOf(residuals).size(), 2U);
}

TEST(AtOnce, CountsCallsThatMeet) {
  AtOnce at_once;
  // Four threads meet for 2 ms in each second of an hour, and one works for a second by itself.
  constexpr std::int64_t kSecond = 1'000'000'000;
  for (std::int64_t i = 0; i < 3600; ++i) {
    for (int thread = 0; thread < 4; ++thread) {
      at_once.add(i * kSecond, i * kSecond + 2'000'000);
    }
  }
  at_once.add(4000 * kSecond, 4001 * kSecond);
  at_once.finish();
  EXPECT_EQ(at_once.during(5 * kSecond, 5 * kSecond + 2'000'000), 4);
  EXPECT_EQ(at_once.during(4000 * kSecond, 4001 * kSecond), 1);
  EXPECT_EQ(at_once.during(5000 * kSecond, 5001 * kSecond), 1);
}

}  // namespace
}  // namespace omnio::access_time
