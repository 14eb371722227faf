#include <gtest/gtest.h>

#include "tests/core/temporary_directory.hpp"
#include "tests/trace/recording.hpp"
#include "trace/runtime/sys/resource_limits.hpp"

namespace omnio::trace {
namespace {

void limitFiles(rlim_t bytes) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(FileSizeLimit, IsTheLargestSizeAllowed) {
  EXPECT_EQ(test::runInChild([] {
              EXPECT_TRUE(withinFileSizeLimit(1ULL << 40));
              limitFiles(1000);
              EXPECT_TRUE(withinFileSizeLimit(1000));
              EXPECT_FALSE(withinFileSizeLimit(1001));
            }),
            0);
}

// A write beyond the limit would end the child by SIGXFSZ.
TEST(FileSizeLimit, StopsTheContainerNotTheApplication) {
  const test::TemporaryDirectory directory;
  constexpr std::size_t kEvents = 100000;
  ASSERT_EQ(test::runTraced(directory / "trace",
                            [&directory] {
                              ASSERT_TRUE(ensureStarted());
                              const int fd = test::openRecorded(directory / "file");
                              limitFiles(300000);
                              for (std::size_t i = 0; i < kEvents; ++i) {
                                test::recordSeek(fd, static_cast<long>(i) * 1000003);
                              }
                              finish(wire::AccountState::kEnded);
                            }),
            0);
  const test::RecordedTrace trace = test::readTrace(directory / "trace");
  test::removeRings(directory / "trace");
  EXPECT_FALSE(trace.wholeness.whole);
  EXPECT_GT(trace.events.size(), 0U);
  EXPECT_LT(trace.events.size(), kEvents);
  EXPECT_EQ(trace.events.size() + trace.wholeness.events_missing, kEvents);
  EXPECT_NE(trace.trouble().find("File too large"), std::string::npos) << trace.trouble();
}

TEST(FileSizeLimit, OfNothingLeavesNothingBehind) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(test::runTraced(directory / "trace",
                            [&directory] {
                              ASSERT_TRUE(ensureStarted());
                              const int fd = test::openRecorded(directory / "file");
                              limitFiles(0);
                              for (int i = 0; i < 50000; ++i) test::recordSeek(fd, i);
                              finish(wire::AccountState::kEnded);
                              EXPECT_EQ(process.events_lost.load(), 50000U);
                            }),
            0);
  EXPECT_TRUE(std::filesystem::is_empty(directory / "trace"));
}

}  // namespace
}  // namespace omnio::trace
