#include <gtest/gtest.h>

#include "cli/trace/manifest.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::cli {
namespace {

constexpr std::uint64_t kSecond = 1000000000;

class LogGrowthTest : public testing::Test {
 protected:
  // A process that lived from one second of the clock to another.
  void process(std::uint64_t token, std::uint64_t from_s, std::uint64_t to_s,
               std::uint64_t stopped_s = 0) {
    test::ContainerBuilder container(token);
    container.header.begin = {.ticks = from_s * kSecond,
                              .monotonic_ns = from_s * kSecond,
                              .realtime_ns = from_s * kSecond};
    auto facts = test::usualFacts();
    if (stopped_s > 0) {
      facts["stops"] = "1";
      facts["stopped_ticks"] = std::to_string(stopped_s * kSecond);
    }
    container.facts(facts).ended(0);
    container.account->end = {
        .ticks = to_s * kSecond, .monotonic_ns = to_s * kSecond, .realtime_ns = to_s * kSecond};
    wire::stamp(*container.account);
    container.save(directory_ / ("p" + std::to_string(token) + ".omnio"));
    bytes_ += container.bytes().size();
  }
  LogGrowth growth() const {
    const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
    EXPECT_TRUE(trace);
    return growthOf(*trace);
  }

  test::TemporaryDirectory directory_;
  std::uint64_t bytes_ = 0;
};

TEST_F(LogGrowthTest, IsOfTheWholeJob) {
  process(1, 100, 110);
  process(2, 105, 120);
  const LogGrowth growth = this->growth();
  EXPECT_EQ(growth.bytes, bytes_);
  EXPECT_NEAR(growth.recorded_s, 20, 1e-6);
  EXPECT_NEAR(growth.bytesPerHour(), static_cast<double>(bytes_) * 180, 1e-3);
}

TEST_F(LogGrowthTest, LeavesOutWhatWasStopped) {
  process(1, 100, 110, 5);
  EXPECT_NEAR(growth().recorded_s, 5, 1e-6);
}

TEST_F(LogGrowthTest, IsToldInWords) {
  EXPECT_EQ(growthText({.bytes = 12897485, .recorded_s = 8.6}),
            "12.3 MiB in 8.6 s, 5.03 GiB an hour");
  EXPECT_EQ(growthText({.bytes = 4096, .recorded_s = 0.2}), "4.00 KiB");
}

}  // namespace
}  // namespace omnio::cli
