// Whether a spool says that its disk is full before events are read from it.
#include "preprocess/scale/event_spool.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <utility>
#include <vector>

namespace omnio::preprocess::scale {
namespace {

EventRecord eventOf(std::uint32_t kind, std::vector<std::int64_t> numbers) {
  EventRecord event;
  event.kind = kind;
  event.numbers = std::move(numbers);
  return event;
}

// No file of the process may have more bytes than that, while this exists.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    handler_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit less{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &less);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_ = SIG_DFL;
};

TEST(EventSpool, SaysThatTheDiskIsFullBeforeItIsRead) {
  EventSpool spool(std::filesystem::temp_directory_path());
  const EventRecord event = eventOf(1, {1, 2, 3});
  // Less than a stream holds back.
  constexpr int kEvents = 10;
  for (int i = 0; i < kEvents; ++i) spool.append(event);
  bool is_well = true;
  {
    const FileLimit limit(100);
    is_well = spool.state().ok();
  }
  EXPECT_FALSE(is_well);
  EXPECT_TRUE(spool.failed());
  std::uint64_t place = 0;
  EventRecord read = event;
  spool.read(place, read);
  EXPECT_TRUE(read.numbers.empty());
}

TEST(EventSpool, ReadsWhatWasAppended) {
  EventSpool spool(std::filesystem::temp_directory_path());
  EventRecord event = eventOf(3, {1, 2, 3});
  event.delays.push_back(eventOf(4, {5}));
  spool.append(event);
  spool.append(eventOf(6, {}));
  EXPECT_TRUE(spool.state().ok());
  std::uint64_t place = 0;
  EventRecord read;
  spool.read(place, read);
  EXPECT_EQ(read.kind, 3U);
  EXPECT_EQ(read.numbers, event.numbers);
  ASSERT_EQ(read.delays.size(), 1U);
  EXPECT_EQ(read.delays[0].numbers, event.delays[0].numbers);
  EXPECT_TRUE(spool.state().ok());
  spool.read(place, read);
  EXPECT_EQ(read.kind, 6U);
}

}  // namespace
}  // namespace omnio::preprocess::scale
