// Models learn from a storage system of which all is known (storage.hpp), and give the totals of
// runs that they have not seen.
#include "predict/access_time/time_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/predict/access_time/storage.hpp"

namespace omnio::access_time {
namespace {

using test::Storage;

class TimeModelTest : public ::testing::Test {
 protected:
  // A run of an application: sizes between those of the calibration, too.
  static std::vector<Access> run() {
    std::vector<Access> accesses;
    for (const CellOperation operation : {CellOperation::kRead, CellOperation::kWrite}) {
      for (const double bytes : {4096.0, 10000.0, 65536.0, 200000.0, 1048576.0}) {
        for (const double processes : {1.0, 3.0, 4.0}) {
          Access access{.operation = operation, .bytes = bytes, .processes = processes};
          access.order = AccessOrder::kSequential;
          accesses.push_back(access);
          access.order = AccessOrder::kRandom;
          access.delta_offset = 1 << 20;
          accesses.push_back(access);
        }
      }
    }
    return accesses;
  }

  // The total over the true mean, less 1; each size has about the same part of it.
  static double totalError(const TimeModel& model) {
    double sum = 0, count = 0;
    for (const Access& access : run()) {
      sum += model.seconds(access) / Storage().mean(access) - 1;
      ++count;
    }
    return sum / count;
  }

  // The mean of the errors of each access's mean time.
  static double meanError(const TimeModel& model, const Storage& storage = {}) {
    double sum = 0, count = 0;
    for (const Access& access : run()) {
      sum += std::abs(model.seconds(access) / storage.mean(access) - 1);
      ++count;
    }
    return sum / count;
  }

  const Samples samples_ = test::samplesOf({}, 2, 60);
};

TEST_F(TimeModelTest, TheTableFindsTheTotalWhereAccessesHitOrMissACache) {
  const auto model = trained(ModelKind::kTable, samples_);
  EXPECT_LT(std::abs(totalError(*model)), 0.05);
  EXPECT_LT(meanError(*model), 0.12);
}

TEST_F(TimeModelTest, TheNetworkIsNearerThanALineWhereTimesAreNotLinear) {
  constexpr Storage kCached{.misses = 0};
  const Samples samples = test::samplesOf(kCached, 2, 20);
  const auto network = trained(ModelKind::kNeural, samples);
  const auto line = trained(ModelKind::kLinear, samples);
  EXPECT_LT(meanError(*network, kCached), 0.2);
  EXPECT_LT(meanError(*network, kCached), meanError(*line, kCached) / 2);
}

// A line is the truth here, but for its noise.
TEST_F(TimeModelTest, TheLineIsFoundWhereThereIsOne) {
  Samples samples = samples_;
  for (Sample& sample : samples) {
    sample.seconds = (1e-5 + sample.access.bytes / 1e8) * sample.access.processes *
                     (sample.start_ns % 2 == 0 ? 1.05 : 0.95);
  }
  const auto model = trained(ModelKind::kLinear, samples);
  for (const double processes : {1.0, 3.0, 8.0}) {
    const Access access{.operation = CellOperation::kWrite, .bytes = 3e6, .processes = processes};
    EXPECT_NEAR(model->seconds(access) / ((1e-5 + 3e-2) * processes), 1, 0.02);
  }
}

TEST_F(TimeModelTest, TheSameSamplesGiveTheSameModel) {
  for (const ModelKind kind : kModelKinds) {
    EXPECT_EQ(timesBy(kind, samples_, samples_), timesBy(kind, samples_, samples_)) << nameOf(kind);
  }
}

TEST_F(TimeModelTest, NoTimeIsNegative) {
  const auto line = trained(ModelKind::kLinear, samples_);
  for (const Sample& sample : samples_) EXPECT_GE(line->seconds(sample.access), 0);
}

// Schmid and Kunkel, "EMA(i) = 0.5 t(i) + 0.5 EMA(i-1), using EMA(n-1)".
TEST(AveragesBefore, HalveTheWeightOfEachEarlierAccess) {
  Samples samples;
  for (const double seconds : {8.0, 4.0, 2.0, 10.0}) {
    samples.push_back({{.bytes = 1}, seconds, 0, static_cast<std::int64_t>(samples.size())});
  }
  EXPECT_EQ(averagesBefore(samples), (std::vector<double>{8, 8, 6, 4}));
}

TEST(AveragesBefore, DoNotReachIntoAnotherCellOrRound) {
  const Samples samples{{{.bytes = 1}, 8, 0, 2},
                        {{.bytes = 2}, 100, 0, 0},
                        {{.bytes = 1}, 4, 0, 1},
                        {{.bytes = 1}, 50, 1, 3}};
  EXPECT_EQ(averagesBefore(samples), (std::vector<double>{4, 100, 4, 50}));
}

TEST(CentresOf, AreTheMeansOfWhatLiesTogether) {
  const std::vector<double> centres = centresOf({{0}, {1}, {2}, {100}, {101}, {50}}, 3);
  EXPECT_EQ(centres, (std::vector<double>{1, 50, 100.5}));
  EXPECT_EQ(centresOf({{5}, {5, 2}}, 10), (std::vector<double>{5}));
}

// Where one class of accesses visits a device and one does not, the class says which one it was.
TEST_F(TimeModelTest, TheErrorClassTellsSlowPathsFromFastOnes) {
  Samples reads;
  std::ranges::copy_if(samples_, std::back_inserter(reads), [](const Sample& sample) {
    return sample.access.operation == CellOperation::kRead && sample.access.bytes == 65536;
  });
  const auto error = [&reads](ModelKind kind) {
    const std::vector<double> times = timesBy(kind, reads, reads);
    double sum = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      sum += std::abs(times[i] / reads[i].seconds - 1);
    }
    return sum / static_cast<double>(times.size());
  };
  EXPECT_LT(error(ModelKind::kNeuralErrorClass), 0.5 * error(ModelKind::kNeural));
  EXPECT_FALSE(predicts(ModelKind::kNeuralErrorClass));
  EXPECT_FALSE(predicts(ModelKind::kNeuralEma));
}

}  // namespace
}  // namespace omnio::access_time
