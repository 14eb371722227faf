// Threads change the same state of the runtime at the same moment: its start, descriptors that
// some close, open and duplicate while others record on them, stopping and starting. Meant for the
// thread sanitizer; what is recorded is looked at all the same.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/trace/recording.hpp"
#include "tests/trace/started_fixture.hpp"
#include "tests/trace/together.hpp"
#include "trace/runtime/recording_switch.hpp"
#include "trace/runtime/stack/stack_table.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {
namespace {

using test::kThreads;
using test::together;

class Races : public test::StartedFixture {
 protected:
  // As a wrapper does: looked up once, and what is not traced is not recorded.
  static bool seekIfTraced(int fd, long offset) {
    const Entry entry = lookUp(fd);
    if (entry.isTraced()) test::recordSeek(entry, offset);
    return entry.isTraced();
  }
};

TEST_F(Races, TheStartOfTheProcess) {
  constexpr long kEvents = 1000;
  ASSERT_EQ(test::runTraced(directory_ / "trace",
                            [this] {
                              together([this](int t) {
                                // As each call does: who comes while another starts it, waits.
                                ASSERT_TRUE(isActive());
                                const std::string name(1, static_cast<char>('a' + t));
                                const int fd = test::openRecorded(directory_ / name);
                                for (long k = 0; k < kEvents; ++k) test::recordSeek(fd, k);
                              });
                              finish(wire::AccountState::kEnded);
                            }),
            0);
  const test::RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  EXPECT_EQ(trace.processes, 1U);
  EXPECT_EQ(trace.events.size(), static_cast<std::size_t>(kThreads * kEvents));
}

// The system calls are made by hand here: that descriptors race is the application's mistake, which
// the sanitizer would report first.
//
// Numbers are closed, opened and duplicated by some while others record on them. Whichever file a
// number stood for at that moment, an event names it as a whole, or none.
TEST_F(Races, TheSameDescriptors) {
  constexpr int kFirst = 500;
  constexpr int kNumbers = 4;
  constexpr int kTurns = 1500;
  std::vector<std::string> names;
  for (int i = 0; i < 6; ++i) {
    // Some longer than a handle holds by itself.
    names.push_back((directory_ / std::string(i % 2 == 0 ? 1 : 220, char('a' + i))).native());
  }
  traced([&] {
    std::array<int, 6> files{};
    for (std::size_t i = 0; i < names.size(); ++i) files[i] = test::openRecorded(names[i]);
    std::atomic<std::size_t> count{0};
    std::atomic<int> changing{kThreads / 2};
    together([&](int t) {
      if (t % 2 == 0) {
        for (long i = 0; changing.load() > 0; ++i) {
          count += seekIfTraced(kFirst + static_cast<int>((t + i) % kNumbers), i) ? 1 : 0;
        }
        return;
      }
      // On a busy machine the others may not have begun yet.
      for (int i = 0; i < kTurns || count.load() < kTurns; ++i) {
        const int number = kFirst + (t + i) % kNumbers;
        if (i % 3 == 0) {
          releaseHandle(takeOut(number));
          rawSyscall(SYS_close, number);
        } else {
          const int source = files[static_cast<std::size_t>(t + i) % files.size()];
          if (rawSyscall(SYS_dup3, source, number, 0) == number) {
            duplicateHandle(number, lookUp(source));
          }
        }
      }
      --changing;
    });
    finish(wire::AccountState::kEnded);
    EXPECT_EQ(process.events_lost.load(), 0U);
    EXPECT_EQ(process.events_written.load(), count.load());
  });
  const test::RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  EXPECT_GT(trace.events.size(), 0U);
  for (const test::RecordedEvent& event : trace.events) {
    // One that was closed after it was looked up, and before it was recorded on.
    if (event.handle.empty() || event.handle == "?") continue;
    EXPECT_NE(std::find(names.begin(), names.end(), event.handle), names.end()) << event.handle;
  }
}

// The place of a handle that is made now is among the first ones as long as none is lost.
std::uint32_t highestOfNewHandles(const std::filesystem::path& file) {
  constexpr int kHandles = 64;
  std::uint32_t highest = 0;
  for (int i = 0; i < kHandles; ++i) {
    highest = std::max(highest, lookUp(test::openRecorded(file)).place());
  }
  return highest;
}

TEST_F(Races, ADescriptorThatAllUseFirst) {
  constexpr int kRounds = 200;
  constexpr std::uint32_t kFew = 120;  // fewer than the rounds, more than the new handles
  const auto nameOf = [this](int round) {
    // Some longer than a handle holds by itself.
    const std::string name = std::to_string(round);
    return (directory_ / (round % 2 == 0 ? name : std::string(220, 'x') + name)).native();
  };
  traced([&] {
    std::vector<std::array<Entry, kThreads>> found(kRounds);
    std::barrier meet(kThreads);
    int fd = -1;
    together([&](int t) {
      for (int round = 0; round < kRounds; ++round) {
        if (t == 0) {
          fd = static_cast<int>(rawSyscall(SYS_openat, AT_FDCWD, address(nameOf(round).c_str()),
                                           O_CREAT | O_RDWR | O_CLOEXEC, 0644));
        }
        meet.arrive_and_wait();
        const Entry entry = find(fd);
        found[static_cast<std::size_t>(round)][static_cast<std::size_t>(t)] = entry;
        test::recordSeek(entry, round);
        meet.arrive_and_wait();
        if (t != 0) continue;
        releaseHandle(takeOut(fd));
        rawSyscall(SYS_close, fd);
      }
    });
    std::size_t others = 0;
    for (const auto& of_round : found) {
      EXPECT_TRUE(of_round[0].isTraced());
      for (const Entry entry : of_round) others += entry.word() == of_round[0].word() ? 0 : 1;
    }
    EXPECT_EQ(others, 0U) << "threads that had another handle";
    EXPECT_LT(highestOfNewHandles(directory_ / "later"), kFew);
    finish(wire::AccountState::kEnded);
    EXPECT_EQ(process.events_lost.load(), 0U);
  });
  const test::RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  EXPECT_EQ(trace.events.size(), static_cast<std::size_t>(kRounds * kThreads));
  std::size_t wrong = 0;
  for (const test::RecordedEvent& event : trace.events) {
    wrong += event.handle == nameOf(static_cast<int>(event.numbers[1])) ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0U) << "events that name another file, or none";
}

// While one thread finds out what an inherited descriptor is, another gives its number to a file
// that it has opened: what was opened last stays.
TEST_F(Races, ADescriptorThatIsOpenedWhileOthersFindOutWhatItIs) {
  constexpr int kRounds = 200;
  traced([&] {
    const std::string old_name = (directory_ / "old").native();
    const std::string new_name = (directory_ / "new").native();
    const int opened = open(new_name.c_str(), O_CREAT | O_RDWR, 0644);
    std::barrier meet(kThreads);
    int fd = -1;
    std::size_t wrong = 0;
    together([&](int t) {
      for (int round = 0; round < kRounds; ++round) {
        if (t == 0) {
          fd = static_cast<int>(rawSyscall(SYS_openat, AT_FDCWD, address(old_name.c_str()),
                                           O_CREAT | O_RDWR | O_CLOEXEC, 0644));
        }
        meet.arrive_and_wait();
        if (t == 0) {
          rawSyscall(SYS_dup3, opened, fd, O_CLOEXEC);
          openHandle(fd, {.directory = {}, .name = new_name}, O_RDWR);
        } else {
          find(fd);
        }
        meet.arrive_and_wait();
        if (t != 0) continue;
        wrong += pathOf(infoOf(lookUp(fd))) == new_name ? 0 : 1;
        releaseHandle(takeOut(fd));
        rawSyscall(SYS_close, fd);
      }
    });
    EXPECT_EQ(wrong, 0U);
  });
}

TEST_F(Races, TheWorkingDirectory) {
  constexpr int kRounds = 300;
  const std::filesystem::path directories[] = {directory_ / "a",
                                               directory_ / std::string(200, 'b')};
  for (const auto& one : directories) std::filesystem::create_directory(one);
  traced([&] {
    ASSERT_EQ(chdir(directories[0].c_str()), 0);
    std::atomic<int> wrong{0};
    together([&](int) { wrong += workingDirectory() == directories[0].native() ? 0 : 1; });
    EXPECT_EQ(wrong.load(), 0);
    std::barrier meet(kThreads);
    together([&](int t) {
      for (int round = 0; round < kRounds; ++round) {
        meet.arrive_and_wait();
        // As the wrapper of chdir does. Which of the two comes last is not known.
        if (t < 2) {
          rawSyscall(SYS_chdir, address(directories[t].c_str()));
          workingDirectoryChanged();
        }
        meet.arrive_and_wait();
        if (t == 0) wrong += workingDirectory() == std::filesystem::current_path().native() ? 0 : 1;
      }
    });
    EXPECT_EQ(wrong.load(), 0) << "rounds after which another directory was known";
  });
}

TEST_F(Races, StoppingAndStarting) {
  traced([this] {
    const int fd = test::openRecorded(directory_ / "file");
    together([fd](int t) {
      for (long k = 0; k < 4000; ++k) {
        if (t < 2 && k % 40 == 0) {
          setRecording(k % 80 != 0);
        } else {
          test::recordSeek(fd, k);
        }
        if (k % 200 == 0) std::this_thread::yield();
      }
    });
    setRecording(true);
    test::recordSeek(fd, 1000000);
    finish(wire::AccountState::kEnded);
    EXPECT_EQ(process.events_lost.load(), 0U);
  });
  const test::RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  EXPECT_EQ(trace.events.size(), static_cast<std::size_t>(trace.wholeness.events));
  std::map<std::uint32_t, std::int64_t> last;
  bool came_back = false;
  for (const test::RecordedEvent& event : trace.events) {
    const auto [place, is_first] = last.try_emplace(event.log, event.numbers[1]);
    EXPECT_TRUE(is_first || place->second < event.numbers[1]);
    place->second = event.numbers[1];
    came_back |= event.numbers[1] == 1000000;
  }
  EXPECT_TRUE(came_back);
}

// Threads search stacks and copy them while another unloads their modules and uses their memory
// again. One stack is always there.
TEST(StackTableRaces, WhatIsFoundIsRightAndACopyIsWholeOrRefused) {
  using Table = StackTable<1024, 1 << 15>;
  const std::unique_ptr<void, decltype(&std::free)> memory(std::calloc(1, sizeof(Table)),
                                                           std::free);
  auto& table = *static_cast<Table*>(memory.get());
  constexpr std::uint64_t kHashes = 400;
  constexpr std::uint64_t kStays = 5000;
  constexpr int kTurns = 300;
  constexpr std::size_t kMostNumbers = std::size_t{1} << 17;
  const auto hash_of = std::make_unique<std::atomic<std::uint64_t>[]>(kMostNumbers);
  const wire::StackFrame stays{.module = 0, .offset = kStays};
  ASSERT_TRUE(table.add(kStays, &stays, 1));
  std::atomic<bool> is_over{false};
  std::atomic<std::uint64_t> copied{0};
  std::vector<std::thread> readers;
  for (std::ptrdiff_t t = 1; t < kThreads; ++t) {
    readers.emplace_back([&] {
      wire::StackDefinition definition;
      while (!is_over.load()) {
        for (std::uint64_t hash = 1; hash <= kHashes; ++hash) {
          const KnownStack constant = table.find(kStays);
          ASSERT_TRUE(constant.number == 1 || (!constant && constant.is_unsure));
          const KnownStack stack = table.find(hash);
          if (stack && stack.number < kMostNumbers) {
            std::uint64_t other = 0;
            ASSERT_TRUE(hash_of[stack.number].compare_exchange_strong(other, hash) ||
                        other == hash);
          }
          if (!stack || !table.copy(stack, definition)) continue;
          ASSERT_EQ(definition.count, 1 + hash % 7);
          for (std::uint32_t i = 0; i < definition.count; ++i) {
            ASSERT_EQ(definition.frames[i].offset, hash * 1000 + i);
            ASSERT_EQ(definition.frames[i].module, definition.frames[0].module);
          }
          copied.fetch_add(1);
        }
      }
    });
  }
  std::vector<wire::StackFrame> frames;
  for (std::uint32_t turn = 0; turn < kTurns || copied.load() == 0; ++turn) {
    for (std::uint64_t hash = 1; hash <= kHashes; ++hash) {
      // Half of them have new hashes from turn to turn, so that all memory is used again.
      if (hash > kHashes / 2 && hash % 8 != turn % 8) continue;
      frames.assign(1 + hash % 7, {.module = 1 + turn});
      for (std::size_t i = 0; i < frames.size(); ++i) frames[i].offset = hash * 1000 + i;
      ASSERT_TRUE(table.find(hash) ||
                  table.add(hash, frames.data(), static_cast<std::uint32_t>(frames.size())));
    }
    table.end([turn](const wire::StackFrame& frame) { return frame.module == 1 + turn; });
  }
  is_over.store(true);
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace omnio::trace
