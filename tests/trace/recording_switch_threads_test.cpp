// Recording is stopped and started while other threads record.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "core/tracefile/completeness.hpp"
#include "tests/trace/recording.hpp"
#include "tests/trace/started_fixture.hpp"
#include "trace/runtime/recording_switch.hpp"

namespace omnio::trace {
namespace {

class RecordingSwitchThreads : public test::StartedFixture {};

// Several switch at once: whatever the order, the last word
// counts, nothing is lost, and each log goes on where it was.
TEST_F(RecordingSwitchThreads, SwitchWhileOthersRecord) {
  constexpr std::size_t kRecorders = 4;
  constexpr int kTurns = 300;
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    std::atomic<bool> stop{false};
    std::array<std::atomic<long>, kRecorders> calls{};
    std::vector<std::thread> recorders;
    for (std::size_t t = 0; t < kRecorders; ++t) {
      recorders.emplace_back([fd, t, &stop, &calls] {
        for (long k = 0; !stop.load(std::memory_order_relaxed); ++k) {
          test::recordSeek(fd, k);
          calls[t].store(k + 1);
          if (k % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
      });
    }
    std::vector<std::thread> switches;
    for (int t = 0; t < 2; ++t) {
      switches.emplace_back([t] {
        for (int i = 0; i < kTurns; ++i) {
          setRecording((i + t) % 2 == 0);
          std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
      });
    }
    for (std::thread& t : switches) t.join();
    setRecording(false);
    EXPECT_FALSE(isRecording());
    EXPECT_TRUE(isStoppedEpoch());
    setRecording(true);
    EXPECT_TRUE(isRecording());
    EXPECT_FALSE(isStoppedEpoch());
    for (std::atomic<long>& made : calls) {
      // One call may have begun before recording did.
      const long before = made.load();
      while (made.load() < before + 2) std::this_thread::yield();
    }
    stop.store(true);
    for (std::thread& t : recorders) t.join();
    finish(wire::AccountState::kEnded);
    EXPECT_EQ(process.events_lost.load(), 0U);
  });
  const test::RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  std::map<std::uint32_t, std::int64_t> last;
  for (const test::RecordedEvent& event : trace.events) {
    const auto [before, is_first] = last.try_emplace(event.log, -1);
    EXPECT_GT(event.numbers[1], before->second);
    before->second = event.numbers[1];
  }
  EXPECT_EQ(last.size(), kRecorders);
  const base::Result<tracefile::Trace> opened = tracefile::Trace::open(directory_ / "trace");
  ASSERT_TRUE(opened);
  const tracefile::Stops stops = tracefile::stopsOf(*opened->processes().front());
  EXPECT_GE(stops.count, 1U);
  EXPECT_GT(stops.total_ns, 0);
}

}  // namespace
}  // namespace omnio::trace
