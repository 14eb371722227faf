// Estimates by a calibration of a storage system of which all is known (storage.hpp).
#include "predict/access_time/estimate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/model/phase_model.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/predict/access_time/schedule_text.hpp"
#include "tests/predict/access_time/storage.hpp"

namespace omnio::access_time {
namespace {

using test::Events;
using test::scheduleOf;
using test::Storage;

// Also fsyncs, opens and closes; 100 us and 1 ns a byte, 20 us, 1 us.
predict::Calibration calibrationOf(const Samples& samples) {
  predict::Calibration calibration;
  calibration.tool = "omnio";
  calibration.date = "2026-11-27T11:00:00Z";
  calibration.target.path = calibration.target.mount = "/scratch";
  calibration.target.file_system = "ext4";
  calibration.target.host = "n";
  calibration.target.memory_bytes = std::uint64_t{1} << 40;
  calibration.cache_check.checks = 0;
  std::map<predict::CellKey, predict::Cell> cells;
  const auto add = [&cells](const predict::CellKey& key, const Sample& sample) {
    predict::Cell& cell = cells[key];
    cell.key = key;
    const auto time_ns = static_cast<std::int64_t>(sample.seconds * 1e9);
    cell.all.add(time_ns);
    if (cell.runs.empty() || cell.runs.back().round != static_cast<std::uint32_t>(sample.round)) {
      cell.runs.push_back({.round = static_cast<std::uint32_t>(sample.round),
                           .begin_ns = sample.start_ns,
                           .times_ns = {},
                           .offsets = {}});
    }
    cell.runs.back().times_ns.push_back(time_ns);
    if (predict::isAccess(key.operation)) {
      const auto bytes = static_cast<std::int64_t>(key.bytes);
      const auto i = static_cast<std::int64_t>(cell.runs.back().offsets.size());
      const bool is_random = key.order == AccessOrder::kRandom;
      cell.runs.back().offsets.push_back(is_random ? (i * 7919 % 1000 + 1) * bytes : i * bytes);
    }
  };
  for (const Sample& sample : samples) {
    const Access& access = sample.access;
    add({.operation = access.operation,
         .order = access.order,
         .sharing = FileSharing::kOwn,
         .extends = access.operation == CellOperation::kWrite,
         .bytes = static_cast<std::uint64_t>(access.bytes),
         .processes = static_cast<std::uint32_t>(access.processes)},
        sample);
    if (access.bytes != 1) continue;
    const auto processes = static_cast<std::uint32_t>(access.processes);
    Sample other = sample;
    for (const std::uint64_t bytes : {0, 1 << 10, 1 << 20}) {
      other.seconds = 1e-4 + 1e-9 * static_cast<double>(bytes);
      add({.operation = CellOperation::kFsync, .bytes = bytes, .processes = processes}, other);
      other.seconds = 1e-6;
      add({.operation = CellOperation::kClose, .bytes = bytes, .processes = processes}, other);
    }
    other.seconds = 2e-5;
    add({.operation = CellOperation::kOpen, .processes = processes}, other);
    add({.operation = CellOperation::kCreate, .processes = processes}, other);
  }
  for (auto& [key, cell] : cells) calibration.cells.push_back(std::move(cell));
  calibration.rounds = 2;
  calibration.processes = 4;
  calibration.accesses = 1000;
  calibration.largest_bytes = 16 << 20;
  calibration.spent_ns = std::int64_t{1} << 40;
  calibration.budget_ns = std::int64_t{1} << 40;
  for (std::uint32_t i = 0; i < 4; ++i) {
    calibration.references.push_back({.round = 0,
                                      .begin_ns = i,
                                      .accesses = 16,
                                      .mean_ns = 1000 + i % 2 * 20,
                                      .median_ns = 1000 + i % 2 * 20});
  }
  return calibration;
}

class EstimateTest : public ::testing::Test {
 protected:
  void calibrate(const predict::Calibration& calibration) {
    const auto written = predict::writeCalibration(directory_ / "cal.json", calibration);
    ASSERT_TRUE(written) << written.failure().sentence;
  }
  base::Result<CalibratedEstimate> estimated(const std::string& document,
                                             EstimateRequest request = {}) {
    if (!request.model) request.model = ModelKind::kTable;
    omnio::test::writeAll(directory_ / "s.json", document);
    request.subject = directory_ / "s.json";
    request.calibration = directory_ / "cal.json";
    return estimate(request);
  }
  std::string problem(const std::string& document, const EstimateRequest& request = {}) {
    const auto result = estimated(document, request);
    if (result) return "no problem";
    std::string sentence = result.failure().sentence;
    const std::string at = directory_.path().native() + "/";
    for (auto i = sentence.find(at); i != sentence.npos; i = sentence.find(at)) {
      sentence.erase(i, at.size());
    }
    return sentence;
  }
  // Two ranks that write and read and sync; and the true mean of the time of each.
  static std::string run(double& true_s, double processes = 1) {
    Events events;
    events.open("a", 0);
    true_s = 2e-5;
    const auto mean = [processes](CellOperation operation, double bytes) {
      return Storage().mean({.operation = operation,
                             .order = AccessOrder::kSequential,
                             .bytes = bytes,
                             .processes = processes});
    };
    for (int i = 0; i < 40; ++i) {
      events.write(0, i * 100000, 100000);
      true_s += mean(CellOperation::kWrite, 100000);
    }
    events.call("fsync", 0);
    true_s += 1e-4 + 4e-3;
    events.call("close", 0);
    true_s += 1e-6;
    return events.text();
  }

  // All accesses of the cell take this time.
  static void setCell(predict::Calibration& calibration, const predict::CellKey& key,
                      std::int64_t time_ns) {
    predict::Cell cell;
    cell.key = key;
    cell.runs = {{.times_ns = std::vector<std::int64_t>(20, time_ns), .offsets = {}}};
    for (const std::int64_t each : cell.runs.front().times_ns) {
      cell.all.add(each);
      if (predict::isAccess(key.operation)) cell.runs.front().offsets.push_back(0);
    }
    std::erase_if(calibration.cells,
                  [&key](const predict::Cell& other) { return other.key == key; });
    calibration.cells.push_back(cell);
    std::ranges::sort(calibration.cells, {}, &predict::Cell::key);
  }

  // The time of the first read of new data, over that of other reads.
  static double firstReadRatio(const predict::Calibration& calibration, const Access& access) {
    const auto times = AccessTimes::learned(calibration, "cal.json", ModelKind::kTable);
    EXPECT_TRUE(times) << times.failure().sentence;
    Access first = access;
    first.is_new = true;
    EXPECT_TRUE(times->covers(first));
    EXPECT_TRUE(times->isOnGrid(first));
    return times->seconds(first) / times->seconds(access);
  }

  omnio::test::TemporaryDirectory directory_;
  const predict::Calibration calibration_ = calibrationOf(test::samplesOf({}, 2, 30));
};

TEST_F(EstimateTest, IsNearTheTruthAndItsIntervalHasIt) {
  calibrate(calibration_);
  double true_s = 0;
  const auto result = estimated(scheduleOf({run(true_s)}));
  ASSERT_TRUE(result) << result.failure().sentence;
  EXPECT_NEAR(result->seconds() / true_s, 1, 0.1);
  EXPECT_LT(result->leastSeconds(), true_s);
  EXPECT_GT(result->mostSeconds(), true_s);
  EXPECT_EQ(result->operations.size(), 4U);
  // The fsync finds 4 MB, four times as much as was measured.
  EXPECT_GT(result->inside_share, 0.4);
  EXPECT_LT(result->inside_share, 0.9);
}

TEST_F(EstimateTest, IsTheSameEachTime) {
  calibrate(calibration_);
  double true_s = 0;
  const std::string document = scheduleOf({run(true_s), run(true_s)});
  EstimateRequest network;
  network.model = ModelKind::kNeural;
  EXPECT_EQ(jsonOf(*estimated(document, network)), jsonOf(*estimated(document, network)));
}

TEST_F(EstimateTest, TakesTheModelWithTheBestTotals) {
  calibrate(calibration_);
  const auto times = AccessTimes::learned(calibration_, "cal.json");
  ASSERT_TRUE(times);
  ASSERT_EQ(times->models().size(), 3U);
  EXPECT_EQ(times->kind(), bestOf(times->models()));
  EXPECT_NE(times->kind(), ModelKind::kLinear);
}

// A throttled target lets some syncs pass at once, and holds up others.
TEST_F(EstimateTest, IsUncertainWhereFewAccessesDifferMuch) {
  double true_s = 0;
  const std::string document = scheduleOf({run(true_s)});
  const auto uncertainty_with = [&](std::size_t count) {
    predict::Calibration calibration = calibration_;
    for (predict::Cell& cell : calibration.cells) {
      if (cell.key.operation != CellOperation::kFsync) continue;
      cell.all = {};
      for (predict::AccessRun& run : cell.runs) {
        run.times_ns.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
          run.times_ns[i] = i % 2 == 0 ? 10'000 : 10'000'000;
          cell.all.add(run.times_ns[i]);
        }
      }
    }
    calibrate(calibration);
    const auto result = estimated(document);
    EXPECT_TRUE(result);
    return result ? result->uncertainty.rounds : 0;
  };
  EXPECT_GT(uncertainty_with(2), 0.5);
  EXPECT_LT(uncertainty_with(2000), 0.1);
}

// What takes long is not measured in each round.
TEST_F(EstimateTest, ComparesRoundsByWhatTheyHave) {
  double true_s = 0;
  const std::string document = scheduleOf({run(true_s)});
  calibrate(calibration_);
  const double with_all = estimated(document)->uncertainty.rounds;
  predict::Calibration calibration = calibration_;
  for (predict::Cell& cell : calibration.cells) {
    if (cell.key.operation == CellOperation::kFsync && cell.key.bytes > 0) cell.runs.pop_back();
  }
  calibrate(calibration);
  const auto result = estimated(document);
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->uncertainty.rounds, with_all, 0.05);
}

TEST_F(EstimateTest, OfPhasesIsThatOfTheirRequests) {
  calibrate(calibration_);
  model::PhaseModel model;
  model.source = "app.trace";
  model.processes = 2;
  model.files = {{.path = "out.{rank}", .shared = false, .size_bytes = 40 * 65536}};
  model::Phase phase;
  phase.interface = model::Interface::kPosix;
  phase.ranks = {0, 1};
  model::PhaseOperation operation;
  operation.request_bytes = 65536;
  operation.repetitions = 40;
  operation.displacement_bytes = 65536;
  phase.operations = {operation};
  phase.weight_bytes = 2 * 40 * 65536;
  phase.calls = {{"close", 2}, {"fsync", 2}, {"open", 2}, {"write", 80}};
  model.phases = {phase};
  const auto result = estimated(model::jsonOf(model));
  ASSERT_TRUE(result) << result.failure().sentence;
  const double write_s = Storage().mean({.operation = CellOperation::kWrite,
                                         .order = AccessOrder::kSequential,
                                         .bytes = 65536,
                                         .processes = 2});
  const double true_s = 40 * write_s + 1e-4 + 40 * 65536e-9 + 2e-5 + 1e-6;
  EXPECT_NEAR(result->seconds() / true_s, 1, 0.05);
  EXPECT_EQ(result->method, "the phases, the processes of each at once");
}

TEST_F(EstimateTest, RefusesACalibrationOfAnotherFormat) {
  double true_s = 0;
  omnio::test::writeAll(directory_ / "cal.json", R"({"format":"omnio-schedule","version":1})");
  EXPECT_EQ(problem(scheduleOf({run(true_s)})).substr(0, 39),
            "cal.json: line 1, column 26: not a cali");
}

TEST_F(EstimateTest, RefusesACalibrationWithTooFewPoints) {
  double true_s = 0;
  predict::Calibration calibration = calibration_;
  std::erase_if(calibration.cells, [](const predict::Cell& cell) {
    return predict::isAccess(cell.key.operation) && cell.key.bytes != 4096;
  });
  calibrate(calibration);
  EXPECT_EQ(
      problem(scheduleOf({run(true_s)})),
      "cal.json: too little to learn from: 720 reads and writes of 1 size, and 20 accesses in "
      "2 sizes are the least; a longer --budget of omnio calibrate measures more");
}

TEST_F(EstimateTest, RefusesACalibrationOfAnotherCacheState) {
  double true_s = 0;
  calibrate(calibration_);
  EstimateRequest direct_wanted;
  direct_wanted.cache = predict::CacheState::kDirect;
  EXPECT_EQ(problem(scheduleOf({run(true_s)}), direct_wanted),
            "cal.json: it was measured with the cache state cached, and --cache wants direct");
  EXPECT_EQ(
      problem(scheduleOf(
          {Events().open("a", 0, "O_WRONLY|O_CREAT|O_DIRECT").write(0, 0, 4096).text()})),
      "cal.json: it was measured with the cache state cached, and 100 % of the bytes of s.json "
      "are by O_DIRECT");
  predict::Calibration direct = calibration_;
  direct.cache = predict::CacheState::kDirect;
  calibrate(direct);
  EXPECT_EQ(
      problem(scheduleOf({run(true_s)})),
      "cal.json: it was measured with the cache state direct, and 100 % of the bytes of s.json "
      "are without O_DIRECT");
}

TEST_F(EstimateTest, RefusesACalibrationWithoutWhatTheScheduleDoes) {
  double true_s = 0;
  predict::Calibration calibration = calibration_;
  std::erase_if(calibration.cells, [](const predict::Cell& cell) {
    return cell.key.operation == CellOperation::kWrite;
  });
  calibrate(calibration);
  EXPECT_EQ(problem(scheduleOf({run(true_s)})),
            "cal.json: no write was measured, and s.json has some");
}

TEST_F(EstimateTest, RefusesWhatIsNeitherAModelNorASchedule) {
  calibrate(calibration_);
  EXPECT_EQ(problem(R"({"format":"omnio-other","version":1})"),
            "s.json: neither a phase model nor a schedule");
  EXPECT_EQ(problem(R"({"format":"omnio-schedule","version":7})").substr(0, 24),
            "s.json: line 1, column 3");
}

// One access in a cell of few took a thousand times as long: the mean of the cell would be 30 times
// too long. All together it is as much as it was.
TEST_F(EstimateTest, SharesOutTheTimeOfRareAccesses) {
  predict::Calibration calibration = calibration_;
  const Samples before = samplesOf(calibration, false);
  double all_before = 0, all_after = 0, cell_before = 0, cell_after = 0;
  for (predict::Cell& cell : calibration.cells) {
    const bool is_hit = cell.key.operation == CellOperation::kWrite && cell.key.bytes == 4096 &&
                        cell.key.processes == 1 && cell.key.order == AccessOrder::kSequential;
    if (is_hit) cell.runs.front().times_ns.front() *= 1000;
  }
  const auto is_of_cell = [](const Sample& sample) {
    return sample.access.bytes == 4096 && sample.access.processes == 1 &&
           sample.access.order == AccessOrder::kSequential;
  };
  const auto add = [&](const Samples& samples, double& all, double& cell) {
    for (const Sample& sample : samples) {
      if (sample.access.operation != CellOperation::kWrite) continue;
      all += sample.seconds;
      if (is_of_cell(sample)) cell += sample.seconds;
    }
  };
  double unused = 0;
  add(samplesOf(calibration, false), all_before, unused);
  add(before, unused, cell_before);
  add(samplesOf(calibration, true), all_after, cell_after);
  EXPECT_NEAR(all_after / all_before, 1, 1e-9);
  EXPECT_NEAR(cell_after / cell_before, 1, 0.1);
}

double secondsOf(const Samples& samples, CellOperation operation, double most_processes) {
  double seconds = 0;
  for (const Sample& sample : samples) {
    const Access& access = sample.access;
    if (access.operation == operation && access.processes <= most_processes)
      seconds += sample.seconds;
  }
  return seconds;
}

// Four processes have two processors: those that lose theirs say nothing of two.
TEST_F(EstimateTest, KeepsRareAccessesOfTooManyProcessesFromTheOthers) {
  predict::Calibration calibration = calibration_;
  calibration.target.processors = 2;
  const auto within = [&calibration](double most_processes) {
    return secondsOf(samplesOf(calibration, true), CellOperation::kWrite, most_processes);
  };
  const double two_before = within(2), all_before = within(4);
  for (predict::Cell& cell : calibration.cells) {
    const bool is_hit = cell.key.operation == CellOperation::kWrite && cell.key.processes == 4;
    if (is_hit) cell.runs.front().times_ns.front() *= 1000;
  }
  EXPECT_NEAR(within(2) / two_before, 1, 1e-9);
  EXPECT_GT(within(4), 1.1 * all_before);
}

// A throttled target: the syncs of a cell that has just one long one are no longer elsewhere.
TEST_F(EstimateTest, LeavesSyncsTheTimesThatTheyTook) {
  predict::Calibration calibration = calibration_;
  const double before = secondsOf(samplesOf(calibration, true), CellOperation::kFsync, 1);
  predict::Cell cell;
  cell.key = {.operation = CellOperation::kFsync, .bytes = 512, .processes = 1};
  cell.runs = {{.times_ns = std::vector<std::int64_t>(10, 100'000), .offsets = {}}};
  cell.runs.front().times_ns.back() = 100'000'000;
  for (const std::int64_t time_ns : cell.runs.front().times_ns) cell.all.add(time_ns);
  calibration.cells.push_back(cell);
  const double of_cell = 1e-9 * static_cast<double>(cell.all.totalNs());
  EXPECT_NEAR(secondsOf(samplesOf(calibration, true), CellOperation::kFsync, 1), before + of_cell,
              1e-12);
  const Samples samples = samplesOf(calibration, true);
  EXPECT_NEAR(samples.back().seconds, 0.1, 1e-12);
}

// The calls of the schedules here come 1 ms after those before.
TEST_F(EstimateTest, AddsWhatAPauseCosts) {
  predict::Calibration calibration = calibration_;
  const auto add = [&calibration](bool is_paused, std::int64_t time_ns) {
    setCell(calibration, {.operation = CellOperation::kCreate, .is_paused = is_paused}, time_ns);
  };
  const auto seconds = [&] {
    calibrate(calibration);
    const auto result =
        estimated(scheduleOf({Events().open("a", 0).open("f.0", 1).open("f.1", 2).text()}));
    EXPECT_TRUE(result) << result.failure().sentence;
    return result ? result->seconds() : 0;
  };
  add(false, 50'000);
  EXPECT_NEAR(seconds(), 3 * 50e-6, 1e-9);
  add(true, 80'000);
  EXPECT_NEAR(seconds(), 3 * 80e-6, 1e-9);
  // Storage whose times differ so much tells nothing of a pause.
  add(true, 40'000);
  EXPECT_NEAR(seconds(), 3 * 50e-6, 1e-9);
}

TEST_F(EstimateTest, AddsWhatTheFirstReadOfNewDataCosts) {
  predict::Calibration calibration = calibration_;
  predict::CellKey key{
      .operation = CellOperation::kRead, .order = AccessOrder::kSequential, .bytes = 16384};
  const Access access{.operation = key.operation, .order = key.order, .bytes = 16384};
  const auto ratio = [&] { return firstReadRatio(calibration, access); };
  EXPECT_EQ(ratio(), 1);  // as a document of before has it
  setCell(calibration, key, 100'000);
  key.is_new = true;
  setCell(calibration, key, 130'000);
  EXPECT_NEAR(ratio(), 1.3, 1e-9);
  // As where others come from a disk, and it is in memory.
  setCell(calibration, key, 100);
  EXPECT_NEAR(ratio(), 1e-3, 1e-9);
}

// A part of a shared file that a rank reads in order.
TEST_F(EstimateTest, KnowsNewDataOfASharedFile) {
  predict::Calibration calibration = calibration_;
  predict::CellKey key{.operation = CellOperation::kRead,
                       .order = AccessOrder::kSequential,
                       .sharing = FileSharing::kShared,
                       .bytes = 16384,
                       .processes = 2};
  setCell(calibration, key, 100'000);
  key.order = AccessOrder::kStrided;
  setCell(calibration, key, 500'000);
  const Access access{.operation = key.operation,
                      .order = AccessOrder::kSequential,
                      .sharing = key.sharing,
                      .bytes = 16384,
                      .processes = 2};
  const auto ratio = [&] { return firstReadRatio(calibration, access); };
  EXPECT_EQ(ratio(), 1);
  key.is_new = true;
  setCell(calibration, key, 200'000);
  EXPECT_NEAR(ratio(), 2, 1e-9);
}

// Two ranks write to one file, once, at the same time.
TEST_F(EstimateTest, LetsRanksIntoAFileByTurnsWhereThatIsHowItWasMeasured) {
  const auto seconds = [this](std::int64_t of_two_ns) {
    predict::Calibration calibration = calibration_;
    predict::CellKey key{.operation = CellOperation::kWrite,
                         .order = AccessOrder::kSequential,
                         .extends = true,
                         .bytes = 16384};
    setCell(calibration, key, 100'000);
    key.order = AccessOrder::kStrided;
    key.sharing = FileSharing::kShared;
    key.processes = 2;
    setCell(calibration, key, of_two_ns);
    calibrate(calibration);
    const auto writer = [](int rank) {
      return Events().open("a", 0).write(0, rank * 16384, 16384).text();
    };
    const auto result = estimated(scheduleOf({writer(0), writer(1)}));
    EXPECT_TRUE(result) << result.failure().sentence;
    std::vector<double> of_ranks;
    for (const RankTime& rank : result->profile.ranks) of_ranks.push_back(rank.data_s * 1e6);
    return of_ranks;
  };
  const auto by_turns = seconds(200'000);
  ASSERT_EQ(by_turns.size(), 2U);
  EXPECT_NEAR(by_turns[0], 100, 0.1);
  EXPECT_NEAR(by_turns[1], 200, 0.1);
  const auto side_by_side = seconds(150'000);
  ASSERT_EQ(side_by_side.size(), 2U);
  EXPECT_NEAR(side_by_side[0], 150, 0.1);
  EXPECT_NEAR(side_by_side[1], 150, 0.1);
}

// Half of the only round stands for a second one, in each cell.
TEST_F(EstimateTest, SplitsARoundOfEachCellAlsoWhereSomeHavePauses) {
  predict::Calibration calibration = calibrationOf(test::samplesOf({}, 1, 30));
  const Access access{
      .operation = CellOperation::kRead, .order = AccessOrder::kSequential, .bytes = 4096};
  const auto cell = std::ranges::find_if(calibration.cells, [&](const predict::Cell& each) {
    return each.key.operation == access.operation && each.key.order == access.order &&
           each.key.bytes == 4096 && each.key.processes == 1;
  });
  ASSERT_NE(cell, calibration.cells.end());
  predict::Cell paused = *cell;
  paused.key.is_paused = true;
  calibration.cells.push_back(paused);
  std::ranges::sort(calibration.cells, {}, &predict::Cell::key);
  const auto times = AccessTimes::learned(calibration, "cal.json");
  ASSERT_TRUE(times) << times.failure().sentence;
  ASSERT_EQ(times->rounds(), 2U);
  EXPECT_TRUE(times->inRound(0, access));
  EXPECT_TRUE(times->inRound(1, access));
}

// 0.1 ms a request, and each name is looked up again each time: the calibration's own paths have
// three names below the target, the application's have one or two.
TEST_F(EstimateTest, CountsTheNamesThatAreLookedUp) {
  predict::Calibration calibration = calibration_;
  for (const auto& [operation, requests] :
       {std::pair(CellOperation::kStat, 4), std::pair(CellOperation::kFtruncate, 1)}) {
    predict::Cell cell;
    cell.key = {.operation = operation};
    cell.all.add(requests * 100'000);
    cell.runs = {{.times_ns = {requests * 100'000}, .offsets = {}}};
    calibration.cells.push_back(cell);
  }
  std::ranges::sort(calibration.cells, {}, &predict::Cell::key);
  calibrate(calibration);
  const auto seconds = [this](const char* name) {
    return estimated(scheduleOf({Events()
                                     .put(fmt::format(
                                         R"("command":"stat","location":"{}","result":0)", name))
                                     .text()}))
        ->seconds();
  };
  EXPECT_NEAR(seconds("old"), 2e-4, 1e-9);
  EXPECT_NEAR(seconds("d/b"), 3e-4, 1e-9);
}

TEST_F(EstimateTest, SaysWhatLiesOutsideOfTheCalibratedRange) {
  predict::Calibration calibration = calibration_;
  calibrate(calibration);
  // More than the largest size, and a call that is not measured at all.
  const auto result = estimated(scheduleOf({Events().open("a", 0).write(0, 0, 64 << 20).text()}));
  ASSERT_TRUE(result) << result.failure().sentence;
  EXPECT_LT(result->inside_share, 0.01);
}

}  // namespace
}  // namespace omnio::access_time
