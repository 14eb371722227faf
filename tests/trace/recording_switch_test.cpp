#include "trace/runtime/recording_switch.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/tracefile/completeness.hpp"
#include "tests/trace/recording.hpp"
#include "tests/trace/started_fixture.hpp"

namespace omnio::trace {
namespace {

class RecordingSwitch : public test::StartedFixture {
 protected:
  void tracedWith(test::Environment variables, const std::function<void()>& body) {
    ASSERT_EQ(test::runTraced(
                  directory_ / "trace",
                  [&body] {
                    ASSERT_TRUE(ensureStarted());
                    body();
                    finish(wire::AccountState::kEnded);
                  },
                  std::move(variables)),
              0);
  }
  // The offsets that were sought, in order.
  std::vector<std::int64_t> offsets() const {
    std::vector<std::int64_t> all;
    for (const test::RecordedEvent& event : read().events) all.push_back(event.numbers[1]);
    return all;
  }
  tracefile::Stops stopsOfFirst() const {
    const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_ / "trace");
    return trace ? tracefile::stopsOf(*trace->processes().front()) : tracefile::Stops{};
  }
};

TEST_F(RecordingSwitch, RecordsNothingWhileItIsOff) {
  tracedWith({}, [this] {
    const int fd = test::openRecorded(directory_ / "file");
    test::recordSeek(fd, 1);
    setRecording(false);
    setRecording(false);
    EXPECT_FALSE(isRecording());
    for (int i = 0; i < 100000; ++i) test::recordSeek(fd, 2);
    setRecording(true);
    EXPECT_TRUE(isRecording());
    test::recordSeek(fd, 3);
    EXPECT_EQ(process.events_lost.load(), 0U);
  });
  EXPECT_EQ(offsets(), (std::vector<std::int64_t>{1, 3}));
  const test::RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  ASSERT_EQ(trace.wholeness.notes.size(), 1U);
  EXPECT_TRUE(
      trace.wholeness.notes[0].starts_with("recording was stopped on request in 1 of 1 process"));
  const tracefile::Stops stops = stopsOfFirst();
  EXPECT_EQ(stops.count, 1U);
  ASSERT_EQ(stops.known.size(), 1U);
  // It lies between the two events.
  EXPECT_GE(stops.known[0].begin_ns, trace.events[0].end_ns);
  EXPECT_LE(stops.known[0].end_ns, trace.events[1].start_ns);
  EXPECT_NEAR(static_cast<double>(stops.total_ns),
              static_cast<double>(stops.known[0].end_ns - stops.known[0].begin_ns), 1e6);
}

TEST_F(RecordingSwitch, RecordsNoOwnWorkAndTellsOfNoStop) {
  tracedWith({}, [this] {
    setOwnWork(true);
    const int fd = test::openRecorded(directory_ / "file");
    test::recordSeek(fd, 1);
    setOwnWork(false);
    EXPECT_TRUE(isRecording());
    test::recordSeek(fd, 2);
    setOwnWork(true);
    setOwnWork(true);
    EXPECT_FALSE(isRecording());
    test::recordSeek(fd, 3);
    setOwnWork(false);
    test::recordSeek(fd, 4);
  });
  EXPECT_EQ(offsets(), (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(read().wholeness.notes, std::vector<std::string>{});
  EXPECT_EQ(stopsOfFirst().count, 0U);
}

TEST_F(RecordingSwitch, StaysOffOnRequestWhenOwnWorkEnds) {
  tracedWith({}, [this] {
    const int fd = test::openRecorded(directory_ / "file");
    setOwnWork(true);
    setRecording(false);
    setOwnWork(false);
    EXPECT_FALSE(isRecording());
    test::recordSeek(fd, 1);
    setRecording(true);
    test::recordSeek(fd, 2);
  });
  EXPECT_EQ(offsets(), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(stopsOfFirst().count, 1U);
}

TEST_F(RecordingSwitch, BeginsAsTheEnvironmentSays) {
  tracedWith({{"OMNIO_START_STOPPED", "1"}}, [this] {
    EXPECT_FALSE(isRecording());
    const int fd = test::openRecorded(directory_ / "file");
    test::recordSeek(fd, 1);
    setRecording(true);
    test::recordSeek(fd, 2);
  });
  EXPECT_EQ(offsets(), std::vector<std::int64_t>{2});
  EXPECT_EQ(stopsOfFirst().count, 1U);
}

TEST_F(RecordingSwitch, AProcessThatIsSilentIsNoneThatIsStopped) {
  tracedWith({{"OMNIO_START_STOPPED", "1"}}, [] {});
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "trace"));
}

TEST_F(RecordingSwitch, AForkedChildBeginsAsItsParentWas) {
  tracedWith({}, [this] {
    const int fd = test::openRecorded(directory_ / "file");
    test::recordSeek(fd, 1);
    setRecording(false);
    const pid_t child = fork();
    if (child == 0) {
      EXPECT_FALSE(isRecording());
      test::recordSeek(fd, 2);
      setRecording(true);
      test::recordSeek(fd, 3);
      finish(wire::AccountState::kEnded);
      _exit(HasFailure() ? 1 : 0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_FALSE(isRecording());  // the child's switch is its own
    test::recordSeek(fd, 4);
  });
  EXPECT_EQ(offsets(), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(read().processes, 2U);
}

TEST_F(RecordingSwitch, AFailedExecLeavesItOff) {
  tracedWith({}, [this] {
    const int fd = test::openRecorded(directory_ / "file");
    test::recordSeek(fd, 1);
    setRecording(false);
    finish(wire::AccountState::kReplaced);
    resume();
    EXPECT_FALSE(isRecording());
    test::recordSeek(fd, 2);
    setRecording(true);
    test::recordSeek(fd, 3);
  });
  EXPECT_EQ(offsets(), (std::vector<std::int64_t>{1, 3}));
}

TEST_F(RecordingSwitch, TurnsBySignal) {
  tracedWith({{"OMNIO_TOGGLE_SIGNAL", "USR2"}}, [this] {
    const int fd = test::openRecorded(directory_ / "file");
    raise(SIGUSR2);
    EXPECT_FALSE(isRecording());
    test::recordSeek(fd, 1);
    raise(SIGUSR2);
    test::recordSeek(fd, 2);
  });
  EXPECT_EQ(offsets(), std::vector<std::int64_t>{2});
}

TEST_F(RecordingSwitch, LeavesASignalAloneThatIsTaken) {
  signal(SIGUSR2, SIG_IGN);
  tracedWith({{"OMNIO_TOGGLE_SIGNAL", "USR2"}}, [] {
    raise(SIGUSR2);
    EXPECT_TRUE(isRecording());
  });
  signal(SIGUSR2, SIG_DFL);
}

TEST_F(RecordingSwitch, ManyStopsAreSummedUp) {
  constexpr std::uint64_t kStops = 5000;
  tracedWith({}, [this] {
    const int fd = test::openRecorded(directory_ / "file");
    for (std::uint64_t i = 0; i < kStops; ++i) {
      test::recordSeek(fd, 1);
      setRecording(false);
      setRecording(true);
    }
  });
  EXPECT_EQ(offsets().size(), kStops);
  const tracefile::Stops stops = stopsOfFirst();
  EXPECT_EQ(stops.count, kStops);
  EXPECT_LE(stops.known.size(), 1000U);
  EXPECT_GT(stops.total_ns, 0);
}

TEST_F(RecordingSwitch, ALogOfLimitedSizeSaysWhatItDropped) {
  constexpr std::uint64_t kEvents = 400000;
  constexpr std::uint64_t kLimit = 500000;
  tracedWith({{"OMNIO_MAX_LOG_SIZE", std::to_string(kLimit)}}, [this] {
    const int fd = test::openRecorded(directory_ / "file");
    for (std::uint64_t i = 0; i < kEvents; ++i) test::recordSeek(fd, 1000 * (i * i % 1000));
  });
  const test::RecordedTrace trace = read();
  EXPECT_FALSE(trace.wholeness.whole);
  EXPECT_EQ(trace.wholeness.events + trace.wholeness.events_missing, kEvents);
  EXPECT_NE(trace.trouble().find("the log reached its limit of 500000 bytes (OMNIO_MAX_LOG_SIZE)"),
            std::string::npos)
      << trace.trouble();
  for (const auto& file : std::filesystem::directory_iterator(directory_ / "trace")) {
    EXPECT_LE(file.file_size(), kLimit);
  }
}

TEST_F(RecordingSwitch, AValueThatMeansNothingIsTold) {
  tracedWith({{"OMNIO_MAX_LOG_SIZE", "much"}}, [this] {
    const int fd = test::openRecorded(directory_ / "file");
    test::recordSeek(fd, 1);
  });
  EXPECT_EQ(read().wholeness.notes,
            std::vector<std::string>{
                "OMNIO_MAX_LOG_SIZE=much means nothing, and the default was taken instead"});
}

}  // namespace
}  // namespace omnio::trace
