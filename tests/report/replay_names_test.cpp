#include "report/replay_names.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/core/temporary_directory.hpp"

namespace omnio::report {
namespace {

TEST(ReplayNames, ALocationSaysWhereTheFileWas) {
  const ReplayNames names({"/t/tree", "/local/tree"}, {{"mapped/in", "/home/u/in"}});
  EXPECT_EQ(names.of("/t/tree/a/b"), "a/b");
  EXPECT_EQ(names.of("/t/tree"), ".");
  EXPECT_EQ(names.of("/t/tree/@root/etc/passwd"), "/etc/passwd");
  EXPECT_EQ(names.of("/t/tree/@root"), "/");
  EXPECT_EQ(names.of("/t/tree/@node/n1/@root/tmp/x"), "/tmp/x");
  EXPECT_EQ(names.of("/local/tree/@node/n1/y"), "y");
  EXPECT_EQ(names.of("/local/tree/@root/tmp/x"), "/tmp/x");
  EXPECT_EQ(names.of("/t/tree/mapped/in"), "/home/u/in") << "as the schedule has it";
  EXPECT_FALSE(names.of("/t/tree2/a"));
  EXPECT_FALSE(names.of("/etc/passwd"));
}

TEST(ReplayNames, OnlyATraceWithAReportIsThatOfAReplay) {
  const test::TemporaryDirectory directory;
  EXPECT_FALSE(ReplayNames::read(directory.path()));
  std::ofstream(directory.path() / "replay.json") << "{";
  EXPECT_FALSE(ReplayNames::read(directory.path()));
  std::ofstream(directory.path() / "replay.json")
      << R"({"tree": "/t/tree", "targets": [{"tree": "/t/tree"}, {"name": "b", "tree": "/b/tree"}],)"
      << R"("node_trees": ["/n/tree"], "schedule": "/nowhere.json"})";
  const auto names = ReplayNames::read(directory.path());
  ASSERT_TRUE(names);
  EXPECT_EQ(names->of("/n/tree/x"), "x");
  EXPECT_EQ(names->of("/b/tree/x"), "x");
}

TEST(ReplayNames, TheFilesOfTheScheduleAreReadWithoutItsEvents) {
  const test::TemporaryDirectory directory;
  const std::filesystem::path schedule = directory.path() / "s.json";
  std::ofstream(schedule)
      << R"({"format":"omnio-schedule","version":1,"global":{"time_replay":"dt",)"
         R"("write_overwrite":false,"size_scale":1.0,"time_scale":1.0,"ranks":1,)"
         R"("source":{"trace":"t","whole":true,"events_missing":0,"command":["a"],"left_out":[]}},)"
         R"("files":[{"location":"in","role":"input","exists":true,"size":1,)"
         R"("read_before_written":1,"source":"/home/u/in.dat"}],)"
         R"("ranks":[{"rank":0,"threads":[{"thread":0,"pid":1,"tid":1,"host":"n","events":[ no)";
  std::ofstream(directory.path() / "replay.json")
      << R"({"tree": "/t/tree", "schedule": ")" << schedule.string() << "\"}";
  const auto names = ReplayNames::read(directory.path());
  ASSERT_TRUE(names);
  EXPECT_EQ(names->of("/t/tree/in"), "/home/u/in.dat");
}

}  // namespace
}  // namespace omnio::report
