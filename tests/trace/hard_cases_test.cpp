// The cases of hard_cases.cpp under the preloaded tracer.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/tracefile/trace.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/trace/recorded.hpp"
#include "tests/trace/traced_child.hpp"

namespace omnio::test {
namespace {

class HardCases : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(work());
    std::filesystem::create_directory(directory_ / "trace");
  }

  std::filesystem::path work() const { return directory_ / "work"; }

  // Runs the case under the serial library; returns its status as waitpid gives it. What it tells
  // of its calls is in `told_`.
  int run(const char* name, Environment variables = {}) {
    const std::string libraries = OMNIO_TEST_LIBRARIES;
    variables["LD_PRELOAD"] = libraries.substr(0, libraries.find(':'));
    variables["OMNIO_DIR"] = (directory_ / "trace").native();
    std::string command = "exec env";
    for (const auto& [key, value] : variables) command += " '" + key + "=" + value + "'";
    command += std::string(" '") + OMNIO_TEST_HARD_CASES + "' " + name + " '" + work().native() +
               "' 2>'" + (directory_ / "told").native() + "'";
    const int status = std::system(command.c_str());
    const std::string text = readAll(directory_ / "told");
    told_ = std::strtoul(text.c_str(), nullptr, 10);
    return status;
  }

  RecordedTrace read() const { return readTrace(directory_ / "trace"); }

  // How many events there are of each path; of calls with one, that of the path.
  std::map<std::string, std::size_t> eventsByFile() const {
    std::map<std::string, std::size_t> files;
    for (const RecordedEvent& event : read().events) {
      std::string path = !event.handle.empty() ? event.handle : event.new_handle;
      if (path.starts_with(work().native())) path = path.substr(work().native().size() + 1);
      ++files[path];
    }
    return files;
  }

  TemporaryDirectory directory_;
  std::size_t told_ = 0;
};

TEST_F(HardCases, ALinkIsRecordedWithItsText) {
  ASSERT_EQ(run("links"), 0);
  std::vector<std::string> got;
  for (const RecordedEvent& event : read().events) {
    if (event.call.starts_with("symlink")) {
      const int path = event.call == "symlink" ? 1 : 2;
      got.push_back((event.texts.contains(0) ? event.texts.at(0) : "-") + " at " +
                    event.texts.at(path));
    }
  }
  const std::string at = " at " + work().native();
  EXPECT_EQ(got, (std::vector<std::string>{"../some/where" + at + "/one",
                                           "/else/../where" + at + "/two", at + "/four"}));
}

TEST_F(HardCases, TwoTextsInOneEvent) {
  ASSERT_EQ(run("two_texts"), 0);
  const RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  ASSERT_EQ(trace.events.size(), 3000U);
  for (std::size_t i = 0; i < 1000; ++i) {
    const RecordedEvent& open = trace.events[3 * i];
    const RecordedEvent& rename = trace.events[3 * i + 2];
    const std::string from = (work() / ("from" + std::to_string(i))).native();
    ASSERT_EQ(open.texts.at(0), from);
    ASSERT_EQ(open.texts.at(1), "w");
    ASSERT_EQ(rename.texts.at(0), from);
    ASSERT_EQ(rename.texts.at(1), (work() / ("to" + std::to_string(i))).native());
  }
}

TEST_F(HardCases, BadPointersFailAsEver) { EXPECT_EQ(run("bad_pointers"), 0); }

TEST_F(HardCases, NumbersOfDirectoriesAreUsedAgain) {
  ASSERT_EQ(run("directory_numbers"), 0);
  const auto files = eventsByFile();
  EXPECT_EQ(files.count("one/one"), 1U);
  EXPECT_EQ(files.count("two/two"), 1U);
  EXPECT_EQ(files.count("one/two"), 0U);
}

TEST_F(HardCases, DaemonsAreTwoProcessesThatEnded) {
  ASSERT_EQ(run("daemon"), 0);
  // The daemon is not waited for by anybody.
  for (int i = 0; i < 24000 && !std::filesystem::exists(work() / "done"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const auto ended = [this] {
    const auto trace = tracefile::Trace::open(directory_ / "trace");
    return trace && tracefile::assess(*trace).whole && trace->processes().size() == 2;
  };
  for (int i = 0; i < 24000 && !ended(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  EXPECT_EQ(trace.processes, 2U);
  const auto files = eventsByFile();
  EXPECT_EQ(files.at("relative"), 2U);
  EXPECT_EQ(files.at("out"), 3U);  // opened, duplicated, written to by the parent alone
}

TEST_F(HardCases, ChildrenOfVforkLeaveTheTracersDescriptorAlone) {
  EXPECT_EQ(run("vfork"), 0);
  EXPECT_EQ(read().count("lseek"), 100000U);
}

TEST_F(HardCases, SilentChildrenOfARankAreNoRanks) {
  ASSERT_EQ(run("silent_children", {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}), 0);
  EXPECT_EQ(read().processes, 1U);
}

TEST_F(HardCases, ARankThatClearsItsEnvironmentStaysARank) {
  ASSERT_EQ(run("clearenv", {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}), 0);
  const auto trace = tracefile::Trace::open(directory_ / "trace");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->processes().at(0)->info.rank(), 1);
}

TEST_F(HardCases, TheEndWhileThreadsRecord) {
  ASSERT_EQ(run("exit_while_threads_record"), 0);
  const RecordedTrace trace = read();
  // A thread that the kernel ends in the middle of writing may leave a hole in the file; but what
  // it was about to write came after the end, and is not owed.
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  EXPECT_EQ(trace.wholeness.events_missing, 0U);
  EXPECT_GE(trace.count("lseek"), 80000U);
}

TEST_F(HardCases, ExecsThatFailLoseNothing) {
  ASSERT_EQ(run("execs_that_fail"), 0);
  const RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  EXPECT_EQ(trace.count("lseek") + trace.count("open"), told_);
}

TEST_F(HardCases, ForksInHandlers) {
  ASSERT_EQ(run("fork_in_handler"), 0);
  const RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  std::map<std::uint32_t, std::size_t> by_process;
  for (const RecordedEvent& event : trace.events) {
    if (event.call != "dprintf") ++by_process[event.pid];  // by which it tells
  }
  std::size_t most = 0;
  for (const auto& [pid, events] : by_process) most = std::max(most, events);
  EXPECT_EQ(most, told_);
}

TEST_F(HardCases, SignalsAtAThreadsFirstEvent) {
  ASSERT_EQ(run("signals_at_first_event"), 0);
  const RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  EXPECT_EQ(trace.count("open") + trace.count("lseek") + trace.count("close"), told_);
}

TEST_F(HardCases, ForksWhileTheLoaderIsLocked) {
  EXPECT_EQ(run("fork_while_loader_is_locked"), 0);
  EXPECT_EQ(read().processes, 50U);
}

TEST_F(HardCases, ThreadsThatComeLate) {
  ASSERT_EQ(run("late_threads"), 0);
  const RecordedTrace trace = read();
  EXPECT_TRUE(trace.wholeness.whole) << trace.trouble();
  EXPECT_EQ(trace.count("lseek"), 15U);
  const auto opened = tracefile::Trace::open(directory_ / "trace");
  ASSERT_TRUE(opened);
  for (const auto& process : opened->processes()) EXPECT_TRUE(process->rings.empty());
}

TEST_F(HardCases, MemoryThatRunsOutComesBack) {
  ASSERT_EQ(run("memory_runs_out"), 0);
  const RecordedTrace trace = read();
  EXPECT_EQ(trace.count("lseek") + trace.wholeness.events_missing, 80000U);
  EXPECT_GE(trace.count("lseek"), 40000U);
}

}  // namespace
}  // namespace omnio::test
