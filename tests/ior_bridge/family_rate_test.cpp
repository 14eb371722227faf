#include "ior_bridge/ior/family_rate.hpp"

#include <gtest/gtest.h>

#include "tests/core/temporary_directory.hpp"
#include "tests/ior_bridge/sample_model.hpp"

namespace omnio::ior {
namespace {

using model::Operation;
using test::kMiB;

// Four phases of 32 MiB, of which the first opens the file and the last closes it.
struct FamilyRate : testing::Test {
  model::PhaseModel model = test::modelOf({test::operation(Operation::kWrite, 8, kMiB, 8 * kMiB)});
  SummaryTest measured;

  FamilyRate() {
    model.phases[0].calls = {{"MPI_File_write_at", 32}};
    for (int i = 2; i <= 4; ++i) {
      model.phases.push_back(model.phases.back());
      model.phases.back().id = i;
    }
    model.phases.front().calls.emplace_back("MPI_File_open", 4);
    model.phases.back().calls.emplace_back("MPI_File_sync", 4);
    model.phases.back().calls.emplace_back("MPI_File_close", 4);
    // 128 MiB in 2 s, and 0.5 and 1 s around them.
    measured.bandwidth_mib_s.write = {128 / 3.5};
    measured.columns.write = {{.data_mib_s = 64, .open_s = 0.5, .close_s = 1}};
  }

  std::vector<double> bandwidths(std::size_t operation = 0) const {
    return bandwidthsOf(model::seriesOf(model).at(0), operation, measured);
  }
};

TEST_F(FamilyRate, CallsAreOfAllPhasesAndProcesses) {
  const FamilyCalls calls = callsOf(model::seriesOf(model).at(0));
  EXPECT_EQ(calls.opens, 4U);
  EXPECT_EQ(calls.closes, 4U);
  EXPECT_EQ(calls.syncs, 4U);
}

TEST_F(FamilyRate, OpensAndClosesCountAsOftenAsTheApplicationMadeThem) {
  EXPECT_DOUBLE_EQ(bandwidths().at(0), 128 / 3.5);
  model.phases.back().calls = {{"MPI_File_write_at", 32}};
  EXPECT_DOUBLE_EQ(bandwidths().at(0), 128 / 2.5) << "no close";
  for (auto& phase : model.phases) phase.calls = {{"MPI_File_open", 4}, {"MPI_File_write_at", 32}};
  EXPECT_DOUBLE_EQ(bandwidths().at(0), 128 / 4.0) << "an open in each phase";
  // The time of a smaller run: 128 MiB at its rate.
  measured.bandwidth_mib_s.write = {32 / 2.0};
  EXPECT_DOUBLE_EQ(bandwidths().at(0), 128 / 4.0);
}

TEST_F(FamilyRate, TheTotalTimeCountsWhereThePartsAreNotKnown) {
  measured.columns.write.clear();
  EXPECT_DOUBLE_EQ(bandwidths().at(0), 128 / 3.5);
  measured.columns.write = {{.data_mib_s = 64, .open_s = 0.5, .close_s = 1}};
  for (auto& phase : model.phases) phase.calls.clear();
  EXPECT_DOUBLE_EQ(bandwidths().at(0), 128 / 3.5);
}

TEST_F(FamilyRate, ColumnsAreReadFromTheSummary) {
  const test::TemporaryDirectory directory;
  const auto columnsOf = [&](const std::string& columns) {
    test::writeAll(directory / "s.json",
                   R"({"tests": [{"TestID": 0, "Parameters": {"transferSize": 1048576},
                   "Results": [{"access": "write", "bwMiB": 32, )" +
                       columns + "}]}]}");
    const auto summary = readSummary(directory / "s.json");
    EXPECT_TRUE(summary) << summary.failure().sentence;
    return summary->tests.at(0).columns.write;
  };
  const std::string times =
      R"("openTime": 0.5, "wrRdTime": 2.0, "closeTime": 1.0, "totalTime": 3.5)";
  ASSERT_EQ(columnsOf(times).size(), 1U);
  EXPECT_DOUBLE_EQ(columnsOf(times)[0].data_mib_s, 56);
  EXPECT_DOUBLE_EQ(columnsOf(times)[0].open_s, 0.5);
  EXPECT_DOUBLE_EQ(columnsOf(times)[0].close_s, 1);
  EXPECT_DOUBLE_EQ(columnsOf(R"("iops": 64.25, )" + times)[0].data_mib_s, 64.25);
  EXPECT_TRUE(columnsOf(R"("openTime": 0.5)").empty());
}

}  // namespace
}  // namespace omnio::ior
