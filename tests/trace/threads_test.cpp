// Many threads use the same runtime at once.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "tests/trace/recording.hpp"
#include "tests/trace/started_fixture.hpp"

namespace omnio::trace {
namespace {

class Threads : public test::StartedFixture {
 protected:
  // Without a rest the threads of a small machine would fill its disk.
  static void restNowAndThen(long events) {
    if (events % 500 == 499) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }

  // Each log has to hold 0, 1, 2, ... as the offsets of its seeks; returns how many each has.
  std::vector<std::size_t> checkSeries() const {
    const test::RecordedTrace trace = read();
    EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
    std::map<std::uint32_t, std::size_t> logs;
    for (const test::RecordedEvent& event : trace.events) {
      EXPECT_EQ(event.numbers[1], static_cast<std::int64_t>(logs[event.log]));
      ++logs[event.log];
    }
    std::vector<std::size_t> sizes;
    for (const auto& [log, size] : logs) sizes.push_back(size);
    return sizes;
  }
};

// Rings change hands; the events of all of their owners have to stay.
TEST_F(Threads, AThousandShortOnes) {
  constexpr std::size_t kThreads = 1000;
  constexpr std::size_t kAtOnce = 4;
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    std::vector<std::thread> starters;
    for (std::size_t s = 0; s < kAtOnce; ++s) {
      starters.emplace_back([fd, s] {
        for (std::size_t i = s; i < kThreads; i += kAtOnce) {
          std::thread([fd, i] {
            for (std::size_t k = 0; k <= i; ++k) test::recordSeek(fd, static_cast<long>(k));
          }).join();
        }
      });
    }
    for (std::thread& starter : starters) starter.join();
    EXPECT_LT(ringCount(), kThreads / 4);  // they are used again
    finish(wire::AccountState::kEnded);
  });
  const std::vector<std::size_t> sizes = checkSeries();
  EXPECT_EQ(sizes.size(), kThreads);
  EXPECT_EQ(std::set<std::size_t>(sizes.begin(), sizes.end()).size(), kThreads);
}

// The process ends while threads go on: each event that was recorded before the last look at it is
// in the file, and the account knows how many those are.
TEST_F(Threads, RecordingWhileAnotherWritesAllOut) {
  constexpr std::size_t kThreads = 8;
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    std::atomic<std::size_t> running{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([fd, &running, &stop] {
        for (long k = 0; !stop.load(std::memory_order_relaxed); ++k) {
          test::recordSeek(fd, k);
          if (k == 0) ++running;
          restNowAndThen(k);
        }
      });
    }
    while (running.load() < kThreads) std::this_thread::yield();
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(writeOutAll());
      std::this_thread::yield();
    }
    finish(wire::AccountState::kEnded);
    stop.store(true);
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(process.events_lost.load(), 0U);
  });
  EXPECT_EQ(checkSeries().size(), kThreads);
}

TEST_F(Threads, TheFirstEventsOfAllAtOnce) {
  constexpr std::size_t kThreads = 16;
  constexpr std::size_t kEvents = 20000;  // more than a ring holds
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    std::atomic<std::size_t> waiting{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([fd, &waiting] {
        ++waiting;
        while (waiting.load() < kThreads) std::this_thread::yield();
        for (std::size_t k = 0; k < kEvents; ++k) test::recordSeek(fd, static_cast<long>(k));
      });
    }
    for (std::thread& t : threads) t.join();
    finish(wire::AccountState::kEnded);
    EXPECT_EQ(process.events_lost.load(), 0U);
  });
  EXPECT_EQ(checkSeries(), std::vector<std::size_t>(kThreads, kEvents));
}

TEST_F(Threads, ExecsThatFailLoseNothingOfTheOthers) {
  constexpr std::size_t kThreads = 4;
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> recorded{0};
    std::atomic<std::size_t> begun{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([fd, &stop, &recorded, &begun] {
        long k = 0;
        for (; !stop.load(std::memory_order_relaxed); ++k) {
          test::recordSeek(fd, k);
          if (k == 0) ++begun;
          restNowAndThen(k);
        }
        recorded += static_cast<std::uint64_t>(k);
      });
    }
    for (int i = 0; i < 100; ++i) {
      finish(wire::AccountState::kReplaced);
      resume();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    while (begun.load() < kThreads) std::this_thread::yield();
    stop.store(true);
    for (std::thread& t : threads) t.join();
    finish(wire::AccountState::kEnded);
    EXPECT_EQ(process.events_written.load(), recorded.load());
    EXPECT_EQ(process.events_lost.load(), 0U);
  });
  EXPECT_EQ(checkSeries().size(), kThreads);
}

TEST_F(Threads, OpenAndCloseDescriptorsOfTheirOwn) {
  constexpr int kThreads = 8;
  traced([this] {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, t, &wrong] {
        for (int i = 0; i < 500; ++i) {
          // Some longer than a handle holds by itself.
          const std::string name = std::string(i % 3 == 0 ? 200 : 1, static_cast<char>('a' + t));
          const int fd = test::openRecorded(directory_ / name);
          const Entry entry = lookUp(fd);
          if (!entry.isTraced() || pathOf(infoOf(entry)) != (directory_ / name).native() ||
              infoOf(entry).fd != fd) {
            ++wrong;
          }
          releaseHandle(takeOut(fd));
          ::close(fd);
        }
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong.load(), 0);
  });
}

}  // namespace
}  // namespace omnio::trace
