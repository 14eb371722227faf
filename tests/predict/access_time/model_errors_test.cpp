#include "predict/access_time/model_errors.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/predict/access_time/storage.hpp"
#include "tests/predict/access_time/three_paths.hpp"

namespace omnio::access_time {
namespace {

// The five of Schmid and Kunkel's table, of relative errors of 0, 10, 20 and 50 %.
TEST(ErrorsOf, AreThoseOfThePaper) {
  const AccessErrors errors = errorsOf({1, 1.1, 1.6, 4.5}, {1, 1, 2, 3});
  EXPECT_EQ(errors.accesses, 4U);
  EXPECT_NEAR(errors.mae_s, (0 + 0.1 + 0.4 + 1.5) / 4, 1e-12);
  EXPECT_NEAR(errors.mape, 20, 1e-9);
  EXPECT_NEAR(errors.mspe, std::sqrt((100.0 + 400 + 2500) / 4), 1e-9);
  EXPECT_NEAR(errors.rq3, 50, 1e-9);
  EXPECT_NEAR(errors.pmax, 50, 1e-9);
}

TEST(ErrorsOf, LeaveOutTimesBelowATick) { EXPECT_EQ(errorsOf({1, 1}, {0, 1}).accesses, 1U); }

class ModelErrorsTest : public ::testing::Test {
 protected:
  const Samples samples_ = test::samplesOf({.misses = 0}, 2, 20);
};

TEST_F(ModelErrorsTest, CoverAllSamplesEachHeldOutOnce) {
  const ModelErrors errors = errorsOf(ModelKind::kTable, samples_);
  EXPECT_EQ(errors.sequential.accesses + errors.random.accesses, samples_.size());
  EXPECT_EQ(errors.sequential.accesses, errors.random.accesses);
}

TEST_F(ModelErrorsTest, OfTheNetworkAreLessThanThoseOfALine) {
  EXPECT_LT(errorsOf(ModelKind::kNeural, samples_).random.mape,
            errorsOf(ModelKind::kLinear, samples_).random.mape / 2);
}

// As in the paper's table: the class of the error says which accesses missed the cache.
TEST_F(ModelErrorsTest, OfTheErrorClassAreLeastWhereSomeAccessesAreSlow) {
  const Samples samples = test::samplesOf({}, 2, 20);
  EXPECT_LT(errorsOf(ModelKind::kNeuralErrorClass, samples).random.mape,
            errorsOf(ModelKind::kNeural, samples).random.mape);
}

// A line is far from the times of small accesses, which the total of many of them is made of.
TEST_F(ModelErrorsTest, TotalsDecideAndNotSingleAccesses) {
  std::vector<std::pair<ModelKind, TotalErrors>> models;
  for (const ModelKind kind : kModelKinds) {
    const ModelErrors errors = errorsOf(kind, samples_);
    EXPECT_EQ(errors.totals.has_value(), predicts(kind));
    if (errors.totals) models.emplace_back(kind, *errors.totals);
  }
  ASSERT_EQ(models.size(), 3U);
  const ModelKind best = bestOf(models);
  for (const auto& [kind, totals] : models) {
    if (kind == best) {
      EXPECT_LT(totals.mean(), 0.15);
    }
    EXPECT_FALSE(kind == ModelKind::kLinear && kind == best);
  }
}

TEST(BestOf, IsTheTableUnlessAnotherIsClearlyNearer) {
  const auto best = [](double of_table, double of_network) {
    return bestOf({{ModelKind::kNeural, {.rounds = {of_network}, .cells = {}}},
                   {ModelKind::kTable, {.rounds = {of_table}, .cells = {}}}});
  };
  EXPECT_EQ(best(0.2, 0.19), ModelKind::kTable);
  EXPECT_EQ(best(0.2, 0.3), ModelKind::kTable);
  EXPECT_EQ(best(0.2, 0.1), ModelKind::kNeural);
}

TEST_F(ModelErrorsTest, HoldOutRoundsAndSizesBetweenOthers) {
  const TotalErrors errors = totalErrorsOf(ModelKind::kTable, samples_);
  constexpr std::size_t kCellsOfASize = 2 * 2 * 3, kSizes = 13;
  EXPECT_EQ(errors.rounds.size(), 2 * kCellsOfASize * kSizes);
  EXPECT_EQ(errors.cells.size(), kCellsOfASize * (kSizes - 2));
}

// Which path an access took is nothing that a model can know of it before; its time says it.
TEST(ErrorsOf, AreFarSmallerWhereTheClassOfAnAccessIsKnown) {
  const Samples samples = test::ThreePaths().samples(200);
  const ModelErrors without = errorsOf(ModelKind::kNeural, samples);
  const ModelErrors with = errorsOf(ModelKind::kNeuralErrorClass, samples);
  EXPECT_LE(with.sequential.mae_s, 0.4 * without.sequential.mae_s);
  EXPECT_LE(with.random.mae_s, 0.4 * without.random.mae_s);
  RecordProperty("sequential",
                 fmt::format("{} of {} s", with.sequential.mae_s, without.sequential.mae_s));
  RecordProperty("random", fmt::format("{} of {} s", with.random.mae_s, without.random.mae_s));
}

}  // namespace
}  // namespace omnio::access_time
