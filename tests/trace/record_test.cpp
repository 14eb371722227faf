// Random events are read back as they were recorded.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/core/temporary_directory.hpp"
#include "tests/trace/recording.hpp"

namespace omnio::trace {
namespace {

using test::RecordedEvent;

// Makes events at random, from the same seed in the child that records them and in the test that
// knows what they have to be.
class RandomEvents {
 public:
  RandomEvents(std::filesystem::path directory, std::uint32_t seed)
      : directory_(std::move(directory)), random_(seed) {}

  // The files that events are about. In the test itself there are no descriptors.
  void openFiles() {
    for (int i = 0; i < kFiles; ++i) descriptors_[i] = test::openRecorded(nameOf(i));
  }

  // Makes one event, records it when `recording`, and tells what it is.
  RecordedEvent next(bool recording) {
    switch (random_() % 9) {
      case 0:
        return onHandle<CallId::pwrite>(recording, Shape{.sized = true, .placed = true});
      case 1:
        return onHandle<CallId::read>(recording, Shape{.sized = true});
      case 2:
        return onHandle<CallId::lseek>(recording, Shape{.placed = true});
      case 3:
        return onHandle<CallId::fsync>(recording, Shape{});
      case 4:
        return onHandle<CallId::pwritev2>(recording, Shape{.placed = true, .pieces = true});
      case 5:
        return onHandle<CallId::fread>(recording, Shape{.items = true});
      case 6:
        return onPaths<CallId::renameat>(recording);
      case 7:
        return onPaths<CallId::stat>(recording);
      default:
        return onPaths<CallId::rename>(recording);
    }
  }

 private:
  static constexpr int kFiles = 300;  // more than handles have slots in a chunk

  struct Shape {
    bool sized = false;
    bool placed = false;
    bool items = false;
    bool pieces = false;
  };

  std::string nameOf(int i) const { return (directory_ / ("file" + std::to_string(i))).native(); }

  // Numbers of every length, small ones most.
  std::int64_t number() {
    const auto value = static_cast<std::int64_t>(random_()) >> (random_() % 64);
    return random_() % 4 == 0 ? -value : value;
  }

  template <CallId kRow>
  RecordedEvent onHandle(bool recording, Shape shape) {
    constexpr const calls::Row& row = calls::rowOf(kRow);
    constexpr wire::RecordLayout layout = wire::recordLayoutOf(kRow);
    RecordedEvent event = begin<kRow>();
    wire::Arguments<kRow> numbers{};
    const int file = static_cast<int>(random_() % (random_() % 8 == 0 ? kFiles : 3));
    for (unsigned i = 0; i < layout.count; ++i) {
      const std::uint8_t at = layout.argument[i];
      if (layout.field[i] != wire::Field::kHandle) numbers[at] = number();
    }
    std::vector<iovec> pieces;
    Subject subject;
    if constexpr (layout.pieces >= 0) {
      const std::size_t count = event.failed || !shape.pieces ? 0 : random_() % 1025;
      for (std::size_t i = 0; i < count; ++i) {
        pieces.push_back({nullptr, static_cast<std::size_t>(number()) >> 24});
      }
      subject.pieces = pieces.data();
      subject.piece_count = static_cast<int>(count);
      numbers[layout.pieces] = static_cast<std::int64_t>(count);
      for (const iovec& piece : pieces) {
        event.request += piece.iov_len;
        event.pieces.push_back(piece.iov_len);
      }
    }
    if constexpr (layout.size >= 0)
      event.request = static_cast<std::uint64_t>(numbers[layout.size]);
    event.result = event.failed         ? static_cast<std::int64_t>(random_() % 140)
                   : random_() % 3 == 0 ? number()
                                        : static_cast<std::int64_t>(event.request);
    event.numbers.assign(numbers.begin(), numbers.begin() + row.argument_count);
    event.handle = nameOf(file);
    if (recording) {
      subject.handle = lookUp(descriptors_[file]);
      record<kRow>(thread, times_, event.failed, numbers, event.request, event.result, subject);
    }
    return event;
  }

  template <CallId kRow>
  RecordedEvent onPaths(bool recording) {
    constexpr const calls::Row& row = calls::rowOf(kRow);
    RecordedEvent event = begin<kRow>();
    wire::Arguments<kRow> numbers{};
    Subject subject;
    std::array<std::string, 2> words = {someWords(), someWords()};
    for (int i = 0; i < row.argument_count; ++i) {
      const calls::Role role = row.arguments[i];
      if (role == calls::Role::kPath || role == calls::Role::kPathNew) {
        const std::string& name = words[role == calls::Role::kPath ? 0 : 1];
        const bool is_joined = random_() % 2 == 0;
        const std::string whole = is_joined ? kDirectory + ("/" + name) : name;
        event.texts[i] = whole.substr(0, wire::kMaxText);
        event.raw_texts[i] = event.texts[i].substr(is_joined ? strlen(kDirectory) + 1 : 0);
        (role == calls::Role::kPath ? subject.path : subject.path_new) =
            is_joined ? wire::PathParts{.directory = kDirectory, .name = name}
                      : wire::PathParts{.directory = {}, .name = name};
      } else if (calls::isRecorded(role)) {
        numbers[i] = number();
        event.numbers[static_cast<std::size_t>(i)] = numbers[i];
      }
    }
    if (event.failed) event.result = static_cast<std::int64_t>(random_() % 140);
    if (recording) record<kRow>(thread, times_, event.failed, numbers, 0, event.result, subject);
    return event;
  }

  template <CallId kRow>
  RecordedEvent begin() {
    RecordedEvent event;
    event.call = calls::rowOf(kRow).name;
    event.numbers.resize(calls::rowOf(kRow).argument_count);
    event.failed = random_() % 5 == 0;
    clock_ += random_() >> (random_() % 40 + 24);
    times_.start = clock_;
    clock_ += random_() >> (random_() % 40 + 24);
    times_.end = clock_;
    return event;
  }

  // Some known already, some new, some longer than is kept.
  std::string someWords() {
    const std::uint64_t kind = random_() % 20;
    if (kind == 0) return std::string(wire::kMaxText + random_() % 100, 'l');
    if (kind < 4) return std::string(random_() % 4000, 'm') + std::to_string(random_() % 1000);
    return "/w" + std::to_string(random_() % 500);
  }

  static constexpr const char* kDirectory = "/some/working/directory";

  std::filesystem::path directory_;
  std::mt19937_64 random_;
  std::uint64_t clock_ = 0;
  wire::EventTimes times_;
  std::array<int, kFiles> descriptors_{};
};

class RandomEventsTest : public testing::TestWithParam<std::uint32_t> {};

TEST_P(RandomEventsTest, AreReadBackAsTheyWereRecorded) {
  constexpr int kEvents = 20000;
  const test::TemporaryDirectory directory;
  ASSERT_EQ(test::runTraced(directory / "trace",
                            [&directory] {
                              ASSERT_TRUE(ensureStarted());
                              RandomEvents events(directory.path(), GetParam());
                              events.openFiles();
                              for (int i = 0; i < kEvents; ++i) events.next(true);
                              finish(wire::AccountState::kEnded);
                            }),
            0);
  const test::RecordedTrace trace = test::readTrace(directory / "trace");
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  ASSERT_EQ(trace.events.size(), static_cast<std::size_t>(kEvents));
  RandomEvents events(directory.path(), GetParam());
  for (int i = 0; i < kEvents; ++i) {
    const RecordedEvent expected = events.next(false);
    const RecordedEvent& got = trace.events[static_cast<std::size_t>(i)];
    ASSERT_EQ(got.call, expected.call) << "event " << i;
    ASSERT_EQ(got.failed, expected.failed) << "event " << i << ", " << got.call;
    ASSERT_EQ(got.numbers, expected.numbers) << "event " << i << ", " << got.call;
    ASSERT_EQ(got.pieces, expected.pieces) << "event " << i << ", " << got.call;
    ASSERT_EQ(got.texts, expected.texts) << "event " << i << ", " << got.call;
    ASSERT_EQ(got.raw_texts, expected.raw_texts) << "event " << i << ", " << got.call;
    ASSERT_EQ(got.handle, expected.handle) << "event " << i << ", " << got.call;
    ASSERT_EQ(got.request, expected.request) << "event " << i << ", " << got.call;
    ASSERT_EQ(got.result, expected.result) << "event " << i << ", " << got.call;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomEventsTest, testing::Values(1, 2, 3));

// MPI is not in this process.
TEST(RealSymbol, ThatNoLibraryHasIsACallThatTheSystemLacks) {
  auto* const function = reinterpret_cast<int (*)()>(resolveReal(CallId::PMPI_Finalize));
  errno = 0;
  EXPECT_EQ(function(), -1);
  EXPECT_EQ(errno, ENOSYS);
}

}  // namespace
}  // namespace omnio::trace
