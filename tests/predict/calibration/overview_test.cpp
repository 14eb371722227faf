#include "predict/calibration/overview.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace omnio::predict {
namespace {

// Sequential reads and writes of 1 and 2 KiB: a read takes 1 us a KiB, a write twice as long.
Calibration linear() {
  Calibration calibration;
  for (const CellOperation operation : {CellOperation::kRead, CellOperation::kWrite}) {
    for (const std::uint64_t bytes : {1024, 2048}) {
      const auto time_ns = static_cast<std::int64_t>((operation == CellOperation::kWrite ? 2 : 1) *
                                                     bytes / 1024 * 1000);
      Cell cell{.key = {.operation = operation, .order = AccessOrder::kSequential, .bytes = bytes}};
      AccessRun run;
      for (std::int64_t i = 0; i < 4; ++i) {
        cell.all.add(time_ns);
        run.times_ns.push_back(time_ns);
        run.offsets.push_back(i * static_cast<std::int64_t>(bytes));
      }
      cell.runs.push_back(run);
      calibration.cells.push_back(cell);
    }
  }
  // The tables leave pauses and two processes out.
  calibration.cells.push_back(calibration.cells.front());
  calibration.cells.back().key.is_paused = true;
  calibration.cells.push_back(calibration.cells.front());
  calibration.cells.back().key.processes = 2;
  return calibration;
}

TEST(CasesOf, HaveTheTimesOfAllSizes) {
  const std::vector<AccessCase> cases = casesOf(linear());
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(caseName(cases[0].key), "read sequential");
  EXPECT_EQ(cases[0].times.count(), 8U);
  EXPECT_EQ(cases[0].times.leastNs(), 1000);
  EXPECT_EQ(cases[0].times.meanNs(), 1500);
  EXPECT_EQ(cases[0].times.mostNs(), 2000);
  EXPECT_EQ(caseName(cases[1].key), "write sequential");
  EXPECT_EQ(cases[1].times.meanNs(), 3000);
}

// Times of 1, 2, 2 and 4 us: the covariances with size and type are 0.375 and 0.375 us, the
// deviation of the times is the square root of 1.1875 us, and those of size and type are 0.5.
TEST(CorrelationsOf, AreThoseOfPearson) {
  const Correlations with_time = correlationsOf(linear());
  EXPECT_EQ(with_time.accesses, 16U);
  EXPECT_NEAR(with_time.size, 0.75 / 1.08972, 1e-5);
  EXPECT_NEAR(with_time.type, 0.75 / 1.08972, 1e-5);
  EXPECT_EQ(with_time.distance, 0);
}

}  // namespace
}  // namespace omnio::predict
