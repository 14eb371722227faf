#include "ior_bridge/ior/peak_plan.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "ior_bridge/ior/emit.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::ior {
namespace {

TEST(PeakPlan, EachWriteIsReadByOthersFromAColdCache) {
  const PeakPlan plan = peakPlanFor({.tasks = 4, .task_bytes = 32 << 20, .iterations = 2});
  ASSERT_EQ(plan.nodes.size(), 1U);
  const auto& runs = plan.nodes[0].runs;
  ASSERT_EQ(runs.size(), 12U);
  std::set<std::pair<bool, std::uint64_t>> kinds;
  for (std::size_t i = 0; i < runs.size(); i += 2) {
    const IorRun& write = runs[i];
    const IorRun& read = runs[i + 1];
    EXPECT_TRUE(write.writes && !write.reads && write.fsync && write.keep && write.several_files);
    EXPECT_TRUE(read.reads && !read.writes && read.cold && read.reordered && !read.keep);
    EXPECT_EQ(write.data, read.data);
    EXPECT_EQ(transfersOf(write) * write.transfer_bytes, 32U << 20);
    EXPECT_EQ(transfersOf(read), transfersOf(write));
    kinds.emplace(write.file_per_process, write.transfer_bytes);
  }
  EXPECT_EQ(kinds.size(), 6U) << "shared and a file each, in three sizes";
  EXPECT_EQ(argumentsOf(runs[0]),
            "-a POSIX -w -N 4 -t 1048576 -b 33554432 -s 1 -i 2 -e -k -m "
            "-o \"$DIR\"/peak-shared-1m.dat "
            "-O summaryFile=\"$RESULTS\"/peak-shared-1m-write.json -O summaryFormat=JSON");
  EXPECT_EQ(argumentsOf(runs[7]),
            "-a POSIX -r -N 4 -t 1048576 -b 33554432 -s 1 -i 2 -F -C -m "
            "-o \"$DIR\"/peak-files-1m.dat "
            "-O summaryFile=\"$RESULTS\"/peak-files-1m-read.json -O summaryFormat=JSON");
}

TEST(PeakPlan, BlocksAreWholeTransfers) {
  const PeakPlan plan = peakPlanFor({.tasks = 1, .task_bytes = 5 << 20});
  EXPECT_EQ(plan.nodes[0].runs[0].block_bytes, 5U << 20);
  EXPECT_EQ(plan.nodes[0].runs[2].block_bytes, 8U << 20);
  EXPECT_EQ(plan.nodes[0].runs[4].block_bytes, 16U << 20);
}

TEST(PeakPlan, AnIoNodeHasANameAndADirectory) {
  const auto node = ioNodeOf("ost-0_a=/mnt/a=b");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->name, "ost-0_a");
  EXPECT_EQ(node->directory, "/mnt/a=b");
  for (const char* word : {"", "=", "ost0", "ost0=", "=dir"}) {
    const auto bad = ioNodeOf(word);
    ASSERT_FALSE(bad) << word;
    EXPECT_EQ(bad.failure().sentence,
              "\"" + std::string(word) + "\": an I/O node is given as NAME=DIR");
  }
  EXPECT_EQ(ioNodeOf("a b=dir").failure().sentence,
            "\"a b=dir\": the name of an I/O node has letters, digits, - and _ only");
}

TEST(PeakPlan, TheScriptQuotesDirectoriesAndWritesItsPlanLast) {
  PeakOptions options{.tasks = 2, .task_bytes = 1, .iterations = 1, .nodes = {}};
  options.nodes = {{.name = "a", .directory = "it's $here"}, {.name = "b", .directory = "/mnt/b"}};
  const std::string script = scriptOf(peakPlanFor(options));
  EXPECT_NE(script.find("TARGET:?"), std::string::npos);
  EXPECT_NE(script.find("DIR=$(mktemp -d \"$TARGET\"/'it'\\''s $here'/omnio-ior.XXXXXX)\n"),
            std::string::npos);
  EXPECT_NE(script.find("DIR=$(mktemp -d '/mnt/b'/omnio-ior.XXXXXX)\n"), std::string::npos);
  EXPECT_NE(script.find("peak-a-shared-1m-write.json"), std::string::npos);
  const std::size_t plan = script.find("<<'END_OF_PLAN'");
  EXPECT_GT(plan, script.rfind("\nrun "));
  EXPECT_NE(script.find("\"format\": \"omnio-ior-peak\"", plan), std::string::npos);
  options.nodes.erase(options.nodes.begin());
  EXPECT_EQ(scriptOf(peakPlanFor(options)).find("TARGET:?"), std::string::npos)
      << "an absolute directory needs no target";
}

TEST(PeakPlan, EmittedIsOneScript) {
  const test::TemporaryDirectory directory;
  const PeakPlan plan = peakPlanFor({.tasks = 2});
  ASSERT_TRUE(emit(plan, directory / "made"));
  EXPECT_EQ(test::readAll(directory / "made" / "peak.sh"), scriptOf(plan));
}

}  // namespace
}  // namespace omnio::ior
