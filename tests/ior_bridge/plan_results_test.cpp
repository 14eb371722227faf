#include "ior_bridge/ior/plan_results.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "ior_bridge/ior/emit.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/ior_bridge/sample_model.hpp"

namespace omnio::ior {
namespace {

namespace fs = std::filesystem;
using model::Operation;
using test::kMiB;
using test::modelOf;
using test::operation;

// A summary with the parameters of the run, as IOR 4 writes them.
std::string summaryTextOf(const IorRun& run, const std::vector<double>& bandwidths,
                          const std::string& target) {
  const bool is_write = run.operation == Operation::kWrite;
  std::string results;
  for (const double bandwidth : bandwidths) {
    results += fmt::format("{}{{\"access\": \"{}\", \"bwMiB\": {}}}", results.empty() ? "" : ", ",
                           model::nameOf(run.operation), bandwidth);
  }
  return fmt::format(
      R"({{"tests": [{{"TestID": 0, "Parameters": {{"api": "{}", "testFileName": "{}",
      "repetitions": {}, "readFile": {}, "writeFile": {}, "filePerProc": {}, "collective": {},
      "randomOffset": {}, "fsync": {}, "reorderTasks": {}, "segmentCount": {}, "transferSize": {},
      "blockSize": {}}}, "Options": {{"tasks": {}}}, "Results": [{}]}}]}})",
      nameOf(run.api), target + "/omnio-ior.abcdef/x.dat", bandwidths.size(), is_write ? 0 : 1,
      is_write ? 1 : 0, run.file_per_process ? 1 : 0, run.collective ? 1 : 0, run.random ? 1 : 0,
      run.fsync ? 1 : 0, run.reordered ? 1 : 0, run.segments, run.transfer_bytes, run.block_bytes,
      run.tasks, results);
}

// Makes the files that a run of a plan leaves: `first` is the bandwidth of the first iteration, and
// each iteration is faster by 1.
void putSummaries(const fs::path& directory, const IorRun& run, double first,
                  const std::string& target = "/mnt/a") {
  if (!isOneStartEach(run)) {
    std::vector<double> bandwidths;
    for (int i = 0; i < run.iterations; ++i) bandwidths.push_back(first + i);
    test::writeAll(directory / (run.name + ".json"), summaryTextOf(run, bandwidths, target));
    return;
  }
  for (int i = 1; i <= run.iterations; ++i) {
    test::writeAll(directory / fmt::format("{}.{}.json", run.name, i),
                   summaryTextOf(run, {first + i - 1}, target));
  }
}

struct PlanResults : testing::Test {
  test::TemporaryDirectory directory;
  fs::path file;

  template <typename Result>
  std::string refusal(const Result& result) {
    EXPECT_FALSE(result.ok());
    if (result.ok()) return "";
    std::string sentence = result.failure().sentence;
    const std::string folder = (directory / "").native();
    for (std::size_t at; (at = sentence.find(folder)) != std::string::npos;) {
      sentence.erase(at, folder.size());
    }
    return sentence;
  }

  // Replaces a text in a file.
  void change(const std::string& name, const std::string& from, const std::string& to) {
    std::string text = test::readAll(directory / name);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    test::writeAll(directory / name, text);
  }
};

struct PeakResults : PlanResults {
  PeakResults() {
    PeakOptions options{.tasks = 2, .task_bytes = 1, .iterations = 2, .nodes = {}};
    options.nodes = {{.name = "a", .directory = "a"}, {.name = "b", .directory = "b"}};
    const PeakPlan plan = peakPlanFor(options);
    file = directory / "peak.json";
    test::writeAll(file, jsonOf(plan));
    double bandwidth = 100;
    for (const PeakNode& node : plan.nodes) {
      for (const IorRun& run : node.runs) putSummaries(directory.path(), run, bandwidth += 10);
    }
  }
};

struct PhasePlanResults : PlanResults {
  model::PhaseModel model = modelOf({operation(Operation::kWrite, 8, kMiB, 8 * kMiB),
                                     operation(Operation::kRead, 8, kMiB, 8 * kMiB)});

  PhasePlanResults() {
    const IorPlan plan = planFor(model, {.iterations = 3});
    file = directory / "ior-plan.json";
    test::writeAll(file, jsonOf(plan));
    double bandwidth = 0;
    for (const IorRun& run : plan.phases[0].runs) {
      if (run.measured) putSummaries(directory.path(), run, bandwidth += 100);
    }
  }
};

TEST_F(PeakResults, AreTheHighestOfEachNodeSummed) {
  const auto peak = readPeak(file);
  ASSERT_TRUE(peak) << peak.failure().sentence;
  // 12 runs a node, 10 MiB/s apart: the last write of a node is its eleventh run, and the second
  // iteration is the better one.
  EXPECT_DOUBLE_EQ(peak->write_mib_s, (100 + 110 + 1) + (100 + 230 + 1));
  EXPECT_DOUBLE_EQ(peak->read_mib_s, (100 + 120 + 1) + (100 + 240 + 1));
}

TEST_F(PeakResults, OtherRunsAreRefused) {
  const std::string name = "peak-b-files-4m-read.2.json";
  const auto changed = [&](const std::string& from, const std::string& to) {
    const std::string before = test::readAll(directory / name);
    change(name, from, to);
    std::string sentence = refusal(readPeak(file));
    test::writeAll(directory / name, before);
    return sentence;
  };
  const std::string begin = name + ": not the run that peak.json plans: it has ";
  EXPECT_EQ(changed("\"transferSize\": 4194304", "\"transferSize\": 65536"),
            begin + "transferSize 65536, not 4194304");
  EXPECT_EQ(changed("\"reorderTasks\": 1", "\"reorderTasks\": 0"), begin + "reorderTasks 0, not 1");
  EXPECT_EQ(changed("\"filePerProc\": 1", "\"filePerProc\": 0"), begin + "filePerProc 0, not 1");
  EXPECT_EQ(changed("\"tasks\": 2", "\"tasks\": 3"), begin + "tasks 3, not 2");
  EXPECT_EQ(changed("POSIX", "MPIIO"), begin + "api MPIIO, not POSIX");
  EXPECT_EQ(changed("\"readFile\": 1, \"writeFile\": 0", "\"readFile\": 0, \"writeFile\": 1"),
            name +
                ": line 4, column 66: test 0 has 0 of 1 results of its writes: the run was "
                "aborted");
  fs::remove(directory / name);
  EXPECT_EQ(refusal(readPeak(file)),
            name + ": missing, though peak.json names it: not all runs of the plan were done");
}

TEST_F(PeakResults, OtherDocumentsAreRefused) {
  EXPECT_EQ(formatOf(file), "omnio-ior-peak");
  EXPECT_EQ(formatOf(directory / "peak-a-files-4m-read.2.json"), "");
  EXPECT_EQ(formatOf(directory / "not there"), "");
  EXPECT_NE(refusal(readPeak(directory / "peak-a-files-4m-read.2.json"))
                .find("not the peak.json that peak.sh of `omnio ior` writes"),
            std::string::npos);
  change("peak.json", "\"summary\": \"peak-a-shared", "\"summary\": \"../peak-a-shared");
  EXPECT_NE(
      refusal(readPeak(file)).find("\"summary\" has to be the name of a file beside this one"),
      std::string::npos);
  test::writeAll(file, R"({"format": "omnio-ior-peak", "version": 2, "nodes": []})");
  EXPECT_NE(refusal(readPeak(file)).find("of version 2, but this omnio reads version 1"),
            std::string::npos);
  test::writeAll(file, R"({"format": "omnio-ior-peak", "version": 1, "nodes": []})");
  EXPECT_EQ(refusal(readPeak(file)), "peak.json: no I/O node is in it");
  test::writeAll(file, R"({"format": "omnio-ior-peak", "version": 1, "nodes": [{"runs": []}]})");
  EXPECT_EQ(refusal(readPeak(file)), "peak.json: an I/O node without a write and a read");
}

TEST_F(PhasePlanResults, AreByPhaseOperationAndIteration) {
  const auto results = readPlanResults(file, model);
  ASSERT_TRUE(results) << results.failure().sentence;
  EXPECT_EQ(results->iterations, 3U);
  EXPECT_EQ(results->target, "/mnt/a");
  const std::vector<std::vector<double>> wanted = {{100, 101, 102}, {200, 201, 202}};
  EXPECT_EQ(results->mib_s.at(1), wanted);
}

TEST_F(PhasePlanResults, OtherModelsAndTargetsAreRefused) {
  const model::PhaseModel other = modelOf({operation(Operation::kWrite, 4, kMiB, 8 * kMiB)});
  EXPECT_EQ(refusal(readPlanResults(file, other)),
            fmt::format("ior-plan.json: the plan of another model ({}; this one is {})",
                        model::digestOf(model), model::digestOf(other)));
  change("phase-1-read.2.json", "/mnt/a/", "/mnt/b/");
  change("phase-1-read.3.json", "/mnt/a/", "/mnt/b/");
  EXPECT_EQ(refusal(readPlanResults(file, model)),
            "ior-plan.json: its runs were on two targets, /mnt/a and /mnt/b");
  change("ior-plan.json", "\"phase\": 1", "\"phase\": 2");
  EXPECT_EQ(refusal(readPlanResults(file, model)), "ior-plan.json: not the operations of phase 1");
}

TEST_F(PhasePlanResults, APlanThatDoesNotNameItsModelIsRefused) {
  change("ior-plan.json", "\"model\"", "\"modell\"");
  EXPECT_NE(refusal(readPlanResults(file, model)).find("\"model\""), std::string::npos);
}

}  // namespace
}  // namespace omnio::ior
