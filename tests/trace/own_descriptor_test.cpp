// The log's descriptor while threads write: the application closes it, or wants its number.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <iterator>

#include "tests/trace/started_fixture.hpp"
#include "tests/trace/together.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {
namespace {

class OwnDescriptor : public test::StartedFixture {
 protected:
  // With a number that an application may ask for, which the log has where no limit can be raised.
  void withLog(const std::function<void()>& body) {
    traced([&body] {
      const rlimit limit{kLimit, kLimit};
      ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
      ASSERT_TRUE(openContainer());
      ASSERT_GE(ownDescriptor(), 0);
      ASSERT_LT(ownDescriptor(), static_cast<int>(kLimit) / 2);
      body();
      finish(wire::AccountState::kEnded);
    });
  }

  static constexpr rlim_t kLimit = 8192;
};

std::ptrdiff_t openDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

TEST_F(OwnDescriptor, ThatIsLostIsOpenedAgainOnce) {
  constexpr int kRounds = 200;
  withLog([] {
    const std::ptrdiff_t before = openDescriptors();
    for (int round = 0; round < kRounds; ++round) {
      rawSyscall(SYS_close, ownDescriptor());
      forgetOwnDescriptor();
      test::together(
          [round](int) { EXPECT_TRUE(appendFact("round", static_cast<std::uint64_t>(round))); });
    }
    EXPECT_EQ(openDescriptors(), before);
  });
  EXPECT_TRUE(read().wholeness.whole) << read().trouble();
}

TEST_F(OwnDescriptor, ThatIsMovedLeavesItsNumberToTheApplicationAlone) {
  constexpr int kRounds = 100;
  withLog([this] {
    const int file = open((directory_ / "file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    std::atomic<bool> is_moving{true};
    test::together([&](int t) {
      for (std::uint64_t i = 0; t > 0 && is_moving.load(); ++i) {
        EXPECT_TRUE(appendFact("fact", i));
      }
      if (t > 0) return;
      for (int round = 0; round < kRounds; ++round) {
        keepDescriptor();
        const int number = ownDescriptor();
        moveOwnDescriptor();
        // It stays open, so that a write that comes late is in the file.
        EXPECT_EQ(rawSyscall(SYS_dup3, file, number, O_CLOEXEC), number);
      }
      is_moving = false;
    });
    struct stat written {};
    EXPECT_EQ(fstat(file, &written), 0);
    EXPECT_EQ(written.st_size, 0) << "bytes of the log in the application's file";
  });
  EXPECT_TRUE(read().wholeness.whole) << read().trouble();
}

}  // namespace
}  // namespace omnio::trace
