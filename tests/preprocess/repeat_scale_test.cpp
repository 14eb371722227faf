// Descriptors that outlive the time step in which they are made.
#include "preprocess/scale/steps/repeat_scale.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace omnio::preprocess::scale {
namespace {

constexpr int kSteps = 8;

// Each step opens a file and writes to it; then the file of one step is read.
std::string scheduleThatReads(int step) {
  std::string files;
  std::string events;
  const auto add = [&events](const std::string& event) {
    events += fmt::format("{}{{\"start\":0,\"end\":0,{}}}", events.empty() ? "" : ",\n", event);
  };
  for (int i = 0; i < kSteps; ++i) {
    files += fmt::format(R"({}{{"location":"f{}","role":"output","exists":false,"size":0}})",
                         i == 0 ? "" : ",", i);
    add(fmt::format(
        R"("command":"open","location":"f{}","flags":"O_RDWR|O_CREAT","mode":"0644","result":{})",
        i, i));
    add(fmt::format(R"("command":"pwrite","fd":{},"count":100,"offset":0,"result":100)", i));
  }
  add(fmt::format(R"("command":"pread","fd":{},"count":100,"offset":0,"result":100)", step));
  return fmt::format(
      R"({{"format":"omnio-schedule","version":1,"global":{{"time_replay":"dt","ranks":1}},)"
      R"("files":[{}],"ranks":[{{"rank":0,"threads":[{{"thread":0,"pid":1,"tid":1,"recorder":0,)"
      R"("host":"h","events":[{}]}}]}}]}})",
      files, events);
}

struct Scaled {
  base::Result<RepeatSummary> summary;
  std::string text;
};

Scaled scaled(const std::string& schedule, double factor) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / fmt::format("repeat_scale.{}", getpid());
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "from.json") << schedule;
  Scaled result{
      .summary = scaleRepetitions(directory / "from.json", directory / "to.json", factor, {}),
      .text = ""};
  std::ifstream file(directory / "to.json");
  result.text.assign(std::istreambuf_iterator<char>(file), {});
  std::filesystem::remove_all(directory);
  return result;
}

TEST(RepeatScale, TheDescriptorOfTheLastStepIsThatOfTheLastOneThatStays) {
  const Scaled half = scaled(scheduleThatReads(kSteps - 1), 0.5);
  ASSERT_TRUE(half.summary.ok()) << half.summary.failure().sentence;
  EXPECT_NE(half.text.find(R"("command":"pread","fd":3,)"), std::string::npos) << half.text;
}

TEST(RepeatScale, RefusesADescriptorOfAStepThatIsLeftOut) {
  const Scaled half = scaled(scheduleThatReads(1), 0.5);
  ASSERT_FALSE(half.summary.ok()) << half.text;
  EXPECT_EQ(half.summary.failure().sentence,
            "pread in rank 0 uses a descriptor that is made in time step 1: with other numbers of "
            "steps, it is not known which one it is");
  EXPECT_EQ(half.text, "");
}

}  // namespace
}  // namespace omnio::preprocess::scale
