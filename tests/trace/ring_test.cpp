#include "trace/runtime/ring/ring.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/tracefile/trace.hpp"
#include "core/wire/mpi_requests.hpp"
#include "tests/trace/recording.hpp"
#include "tests/trace/started_fixture.hpp"
#include "trace/runtime/handle_table.hpp"

namespace omnio::trace {
namespace {

using test::RecordedEvent;

class RingTest : public test::StartedFixture {};

TEST_F(RingTest, DrainsAtItsEnd) {
  constexpr int kEvents = 200000;
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    for (int i = 0; i < kEvents; ++i) test::recordSeek(fd, i);
    EXPECT_GT(process.events_written.load(), 0U);  // some of it before the end
    finish(wire::AccountState::kEnded);
    EXPECT_EQ(process.events_written.load(), static_cast<std::uint64_t>(kEvents));
    EXPECT_EQ(process.events_lost.load(), 0U);
  });
  const test::RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  ASSERT_EQ(trace.events.size(), static_cast<std::size_t>(kEvents));
  for (int i = 0; i < kEvents; ++i) {
    ASSERT_EQ(trace.events[static_cast<std::size_t>(i)].numbers[1], i);
  }
}

TEST_F(RingTest, TellsHowLongWritingOutTook) {
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    while (process.events_written.load() == 0) test::recordSeek(fd, 1);
    test::recordSeek(fd, 2);
    finish(wire::AccountState::kEnded);
  });
  const test::RecordedTrace trace = read();
  ASSERT_GT(trace.events.size(), 2U);
  const RecordedEvent& last = trace.events.back();
  EXPECT_GT(last.recorder_ns, 0);
  EXPECT_LE(last.recorder_ns, last.start_ns - trace.events[trace.events.size() - 2].end_ns);
  std::int64_t before = 0;
  for (const RecordedEvent& event : trace.events) before += event.recorder_ns;
  EXPECT_LT(before, trace.events.back().end_ns - trace.events.front().start_ns);
}

TEST_F(RingTest, TellsTheSameWorkOnce) {
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    test::recordSeek(fd, 1);
    test::recordSeek(fd, 2);  // tells what making a ring took
    const std::uint64_t since = ticks();
    while (ticks() < since + 100'000) {
    }
    noteOwnWork(thread, since);
    noteOwnWork(thread, since);
    EXPECT_GE(thread.own_work, 100'000U);
    EXPECT_LE(thread.own_work, ticks() - since);
    test::recordSeek(fd, 3);
    EXPECT_EQ(thread.own_work, 0U);
    finish(wire::AccountState::kEnded);
  });
  const test::RecordedTrace trace = read();
  ASSERT_EQ(trace.events.size(), 3U);
  EXPECT_GT(trace.events[2].recorder_ns, 0);
  EXPECT_LE(trace.events[2].recorder_ns, trace.events[2].start_ns - trace.events[1].end_ns);
}

// Each record as large as it can be, so that the end of the ring is met at every distance.
TEST_F(RingTest, TheLargestRecordsStayInTheRing) {
  constexpr CallId kRow = CallId::pwritev2;
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    std::vector<iovec> pieces(1024, iovec{nullptr, SIZE_MAX >> 10});
    Subject subject;
    subject.handle = lookUp(fd);
    subject.pieces = pieces.data();
    for (int i = 0; i < 3000; ++i) {
      subject.piece_count = 1024 - i % 7;
      wire::Arguments<kRow> numbers{};
      numbers.fill(INT64_MIN + i);
      numbers[wire::recordLayoutOf(kRow).pieces] = subject.piece_count;
      record<kRow>(thread, {}, false, numbers, UINT64_MAX - 5, INT64_MAX - i, subject);
      const Ring& ring = *thread.lanes[0].ring;
      ASSERT_LE(ring.cursor, ring.limit);
    }
    finish(wire::AccountState::kEnded);
  });
  const test::RecordedTrace trace = read();
  // No call wrote so many bytes, so that the account of bytes means nothing.
  EXPECT_TRUE(trace.wholeness.settled) << trace.trouble();
  ASSERT_EQ(trace.events.size(), 3000U);
  EXPECT_EQ(trace.events[10].pieces, std::vector<std::uint64_t>(1024 - 3, SIZE_MAX >> 10));
}

// The list of a window's epoch is one record, however many ranks it is with: those of a job of 4096
// find room in it, whatever their numbers.
TEST_F(RingTest, EpochsWithAllOfAJobFindRoom) {
  constexpr CallId kRow = CallId::MPI_Win_post;
  constexpr std::int64_t kRanks = 4096;
  constexpr std::uint64_t kMany = std::uint64_t{1} << 32;
  traced([this] {
    std::vector<char> list;
    for (const std::int64_t members : {kRanks, 8 * kRanks}) {
      std::int64_t count = 0;
      list.resize(static_cast<std::size_t>(2 * members) * wire::kMaxVarint);
      char* out = list.data();
      for (std::int64_t rank = 0; rank < members; ++rank) {
        const wire::Member member = {.rank = static_cast<std::uint64_t>(rank), .seq = kMany};
        out = wire::put(out, member, count);
      }
      Subject subject;
      subject.list = list.data();
      subject.list_bytes = static_cast<std::size_t>(out - list.data());
      wire::Arguments<kRow> numbers{1, count};
      record<kRow>(thread, {}, false, numbers, 0, 0, subject);
    }
    finish(wire::AccountState::kEnded);
    EXPECT_EQ(process.events_lost.load(), 1U);  // the one with more ranks than that
  });
  const test::RecordedTrace trace = read();
  ASSERT_EQ(trace.events.size(), 1U);
  EXPECT_EQ(trace.events[0].numbers[1], 2 * kRanks);
}

// The room that is kept free for a record has to be enough for its longest form.
TEST_F(RingTest, NumbersOfFullLengthStayInTheRing) {
  constexpr CallId kRow = CallId::sync_file_range;
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    Subject subject;
    subject.handle = lookUp(fd);
    for (std::int64_t i = 0; i < 20000; ++i) {
      wire::Arguments<kRow> numbers{};
      numbers.fill(i % 2 == 0 ? INT64_MIN + i : INT64_MAX - i);
      const wire::EventTimes times = {.start = static_cast<std::uint64_t>(i % 2) << 62,
                                      .end = UINT64_MAX - static_cast<std::uint64_t>(i)};
      record<kRow>(thread, times, i % 3 == 0, numbers, 0, INT64_MIN + i, subject);
      const Ring& ring = *thread.lanes[0].ring;
      ASSERT_LE(ring.cursor, ring.limit);
    }
    finish(wire::AccountState::kEnded);
  });
  EXPECT_EQ(read().events.size(), 20000U);
}

TEST_F(RingTest, TextsOfOneEventNeverTakeEachOthersPlace) {
  constexpr CallId kRow = CallId::rename;
  constexpr int kPairs = 5000;
  traced([] {
    for (int i = 0; i < kPairs; ++i) {
      const std::string from = "/from" + std::to_string(i);
      const std::string to = "/to" + std::to_string(i);
      Subject subject;
      subject.path = {.directory = {}, .name = from};
      subject.path_new = {.directory = {}, .name = to};
      wire::Arguments<kRow> numbers{};
      record<kRow>(thread, {}, false, numbers, 0, 0, subject);
    }
    finish(wire::AccountState::kEnded);
  });
  const test::RecordedTrace trace = read();
  ASSERT_EQ(trace.events.size(), static_cast<std::size_t>(kPairs));
  for (int i = 0; i < kPairs; ++i) {
    const RecordedEvent& event = trace.events[static_cast<std::size_t>(i)];
    ASSERT_EQ(event.texts.at(0), "/from" + std::to_string(i));
    ASSERT_EQ(event.texts.at(1), "/to" + std::to_string(i));
  }
}

TEST_F(RingTest, AnOpenNamesItsPathModeAndHandle) {
  constexpr CallId kRow = CallId::fopen;
  constexpr int kOpens = 2000;
  traced([this] {
    for (int i = 0; i < kOpens; ++i) {
      const std::string path = (directory_ / ("f" + std::to_string(i))).native();
      const int fd = ::open(path.c_str(), O_CREAT | O_RDWR, 0644);
      Subject subject;
      subject.path = {.directory = {}, .name = path};
      subject.born = openHandle(fd, subject.path, 0);
      subject.word.name = "w+";
      wire::Arguments<kRow> numbers{};
      record<kRow>(thread, {}, false, numbers, 0, 0, subject);
      releaseHandle(takeOut(fd));
      ::close(fd);
    }
    finish(wire::AccountState::kEnded);
  });
  const test::RecordedTrace trace = read();
  ASSERT_EQ(trace.events.size(), static_cast<std::size_t>(kOpens));
  for (int i = 0; i < kOpens; ++i) {
    const RecordedEvent& event = trace.events[static_cast<std::size_t>(i)];
    const std::string path = (directory_ / ("f" + std::to_string(i))).native();
    ASSERT_EQ(event.texts.at(0), path);
    ASSERT_EQ(event.texts.at(1), "w+");
    ASSERT_EQ(event.new_handle, path);
  }
}

TEST_F(RingTest, AHandleThatWasClosedMeanwhileIsNamedWithAQuestionMark) {
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    const Entry entry = takeOut(fd);
    releaseHandle(entry);
    test::openRecorded(directory_ / "other");  // takes over the place of the facts
    Subject subject;
    subject.handle = entry;
    wire::Arguments<CallId::fsync> numbers{};
    record<CallId::fsync>(thread, {}, false, numbers, 0, 0, subject);
    finish(wire::AccountState::kEnded);
  });
  const test::RecordedTrace trace = read();
  ASSERT_EQ(trace.events.size(), 1U);
  EXPECT_EQ(trace.events[0].handle, "?");
}

TEST_F(RingTest, IsNotLostWhenAnExecFails) {
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    for (int i = 0; i < 1000; ++i) {
      test::recordSeek(fd, i);
      if (i % 10 == 0) {
        finish(wire::AccountState::kReplaced);
        if (i % 20 == 0) test::recordSeek(fd, -i);
        resume();
      }
    }
    const Ring* ring = thread.lanes[0].ring;
    const Ring* file = firstRingFile();
    EXPECT_TRUE(file == nullptr || file == ring);
    finish(wire::AccountState::kEnded);
    EXPECT_EQ(firstRingFile(), nullptr);
  });
  const test::RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  EXPECT_EQ(trace.events.size(), 1050U);
}

// After a failed exec a ring is a file again, with all that is in it: a kill loses nothing.
TEST_F(RingTest, IsCollectedAfterAnExecThatFailedAndAKill) {
  const int status = test::runTraced(directory_ / "trace", [this] {
    ASSERT_TRUE(ensureStarted());
    const int fd = test::openRecorded(directory_ / "file");
    for (int i = 0; i < 100; ++i) test::recordSeek(fd, i);
    if (firstRingFile() == nullptr) _exit(77);  // no tmpfs here
    finish(wire::AccountState::kReplaced);
    resume();
    for (int i = 100; i < 200; ++i) test::recordSeek(fd, i);
    raise(SIGKILL);
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no tmpfs for rings here";
  ASSERT_TRUE(WIFSIGNALED(status));
  const test::RecordedTrace trace = read();
  EXPECT_EQ(trace.events.size(), 200U);
  EXPECT_FALSE(trace.wholeness.whole);
  test::removeRings(directory_ / "trace");
}

TEST_F(RingTest, AChildIsAProcessOfItsOwn) {
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    test::recordSeek(fd, 1);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(test::runInChild([fd] {
                  test::recordSeek(fd, 2);
                  finish(wire::AccountState::kEnded);
                }),
                0);
    }
    // One that does nothing leaves nothing.
    EXPECT_EQ(test::runInChild([] { finish(wire::AccountState::kEnded); }), 0);
    test::recordSeek(fd, 3);
    finish(wire::AccountState::kEnded);
  });
  const test::RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  EXPECT_EQ(trace.processes, 4U);
  EXPECT_EQ(trace.events.size(), 5U);
}

// A thread that writes its ring out is stuck in the device, and the one that ends the process
// writes it too: both have read how many events are accounted for, and both go on.
TEST_F(RingTest, EventsThatTwoWriteOutAreCountedOnce) {
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    for (int i = 0; i < 3; ++i) test::recordSeek(fd, i);
    Ring& ring = *thread.lanes[0].ring;
    const std::uint64_t before = ring.accounted.load();
    std::atomic<std::uint64_t> written{0};
    accountFor(ring, before, 3, written);
    accountFor(ring, before, 3, written);
    EXPECT_EQ(written.load(), 3U);
    accountFor(ring, before, 5, written);
    EXPECT_EQ(written.load(), 5U);
    drain(ring, thread, 0);
    accountFor(ring, before, 3, written);
    EXPECT_EQ(written.load(), 5U);
    EXPECT_EQ(static_cast<std::uint32_t>(ring.accounted.load()), 0U);
    finish(wire::AccountState::kEnded);
  });
}

// A signal handler forks while noteCall or eventsOf has the ring in hand, and returns there.
TEST_F(RingTest, AChildMayTouchTheRingThatItsThreadHadInHand) {
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    test::recordSeek(fd, 1);
    Ring* const in_hand = thread.lanes[0].ring;
    EXPECT_EQ(test::runInChild([fd, in_hand] {
                in_hand->header.call_state.store(wire::CallState::kUnderWay);
                test::recordSeek(fd, 2);
                in_hand->header.call_state.store(wire::CallState::kBetween);
                finish(wire::AccountState::kEnded);
              }),
              0);
    finish(wire::AccountState::kEnded);
  });
  const test::RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  EXPECT_EQ(trace.events.size(), 2U);
}

}  // namespace
}  // namespace omnio::trace
