#include "ior_bridge/ior/plan_results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
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

// A summary with the parameters of the run, as IOR 4 writes them: `first` is the bandwidth of the
// first iteration, and each iteration is faster by 1. A read is twice as fast as a write.
std::string summaryTextOf(const IorRun& run, double first, const std::string& target) {
  std::vector<std::string> results;
  for (int i = 0; i < run.iterations; ++i) {
    for (const auto operation : {Operation::kWrite, Operation::kRead}) {
      if (!run.has(operation)) continue;
      const double bandwidth = (first + i) * (operation == Operation::kRead ? 2 : 1);
      results.push_back(
          fmt::format(R"({{"access": "{}", "bwMiB": {}}})", model::nameOf(operation), bandwidth));
    }
  }
  return fmt::format(
      R"({{"tests": [{{"TestID": 0, "Parameters": {{"api": "{}", "testFileName": "{}",
      "repetitions": {}, "multiFile": {}, "readFile": {}, "writeFile": {}, "filePerProc": {},
      "collective": {}, "randomOffset": {}, "fsync": {}, "fsyncperwrite": {}, "reorderTasks": {},
      "segmentCount": {}, "transferSize": {}, "blockSize": {}}}, "Options": {{"tasks": {}}},
      "Results": [{}]}}]}})",
      nameOf(run.api), target + "/omnio-ior.abcdef/x.dat", run.iterations,
      run.several_files ? 1 : 0, run.reads ? 1 : 0, run.writes ? 1 : 0,
      run.file_per_process ? 1 : 0, run.collective ? 1 : 0, run.random ? 1 : 0, run.fsync ? 1 : 0,
      run.fsync_each ? 1 : 0, run.reordered ? 1 : 0, run.segments, run.transfer_bytes,
      run.block_bytes, run.tasks, fmt::join(results, ", "));
}

void putSummary(const fs::path& directory, const IorRun& run, double first,
                const std::string& target = "/mnt/a") {
  test::writeAll(directory / summaryOf(run), summaryTextOf(run, first, target));
}

struct ResultsOfIor : testing::Test {
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

struct PeakResults : ResultsOfIor {
  PeakResults() {
    PeakOptions options{.tasks = 2, .task_bytes = 1, .iterations = 2, .nodes = {}};
    options.nodes = {{.name = "a", .directory = "a"}, {.name = "b", .directory = "b"}};
    const PeakPlan plan = peakPlanFor(options);
    file = directory / "peak.json";
    test::writeAll(file, jsonOf(plan));
    double bandwidth = 100;
    for (const PeakNode& node : plan.nodes) {
      for (const IorRun& run : node.runs) putSummary(directory.path(), run, bandwidth += 10);
    }
  }
};

struct PhasePlanResults : ResultsOfIor {
  // Two families: writes in three phases, and one phase of reads, in blocks of another size.
  model::PhaseModel model = modelOf({operation(Operation::kWrite, 8, kMiB, 8 * kMiB)});

  PhasePlanResults() {
    for (int phase = 2; phase <= 3; ++phase) {
      model.phases.push_back(model.phases.back());
      model.phases.back().id = phase;
      model.phases.back().operations[0].init_offset.base += 32 * kMiB;
    }
    model.phases.push_back(modelOf({operation(Operation::kRead, 4, kMiB, 4 * kMiB)}).phases[0]);
    model.phases.back().id = 4;
    const IorPlan plan = planFor(model, {.iterations = 3});
    file = directory / "ior-plan.json";
    test::writeAll(file, jsonOf(plan));
    double bandwidth = 0;
    for (const IorRun& run : plan.runs) putSummary(directory.path(), run, bandwidth += 100);
  }
};

TEST_F(PeakResults, AreTheHighestOfEachNodeSummed) {
  const auto peak = readPeak(file);
  ASSERT_TRUE(peak) << peak.failure().sentence;
  // 12 runs a node, 10 MiB/s apart: the last write of a node is its eleventh run, and the second
  // iteration is the better one.
  EXPECT_DOUBLE_EQ(peak->write_mib_s, (100 + 110 + 1) + (100 + 230 + 1));
  EXPECT_DOUBLE_EQ(peak->read_mib_s, 2 * (100 + 120 + 1) + 2 * (100 + 240 + 1));
}

TEST_F(PeakResults, OtherRunsAreRefused) {
  const std::string name = "peak-b-files-4m-read.json";
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
                ": line 5, column 18: test 0 has 0 of 2 results of its writes: the run was "
                "aborted");
  fs::remove(directory / name);
  EXPECT_EQ(refusal(readPeak(file)),
            name + ": missing, though peak.json names it: not all runs of the plan were done");
}

TEST_F(PeakResults, OtherDocumentsAreRefused) {
  EXPECT_EQ(memberOf(file, "format"), "omnio-ior-peak");
  EXPECT_EQ(memberOf(directory / "peak-a-files-4m-read.json", "format"), "");
  EXPECT_EQ(memberOf(directory / "not there", "format"), "");
  EXPECT_NE(refusal(readPeak(directory / "peak-a-files-4m-read.json"))
                .find("not the peak.json that peak.sh of `omnio ior` writes"),
            std::string::npos);
  change("peak.json", "\"name\": \"a\"", "\"name\": \"../a\"");
  EXPECT_NE(refusal(readPeak(file)).find("\"name\" has to be a plain name"), std::string::npos);
  test::writeAll(file, R"({"format": "omnio-ior-peak", "version": 1, "nodes": []})");
  EXPECT_NE(refusal(readPeak(file)).find("of version 1, but this omnio reads version 2"),
            std::string::npos);
  test::writeAll(file, R"({"format": "omnio-ior-peak", "version": 2, "api": "POSIX", "tasks": 2,
                           "task_bytes": 1, "iterations": 2, "nodes": []})");
  EXPECT_EQ(refusal(readPeak(file)), "peak.json: no I/O node is in it");
}

TEST_F(PhasePlanResults, AreByPhaseOperationAndIteration) {
  const auto results = readPlanResults(file, model);
  ASSERT_TRUE(results) << results.failure().sentence;
  EXPECT_EQ(results->iterations, 3U);
  EXPECT_EQ(results->target, "/mnt/a");
  const std::vector<std::vector<double>> writes = {{100, 101, 102}};
  for (const int phase : {1, 2, 3}) EXPECT_EQ(results->mib_s.at(phase), writes);
  const std::vector<std::vector<double>> reads = {{400, 402, 404}};
  EXPECT_EQ(results->mib_s.at(4), reads);
}

TEST_F(PhasePlanResults, OtherModelsAndTargetsAreRefused) {
  const model::PhaseModel other = modelOf({operation(Operation::kWrite, 4, kMiB, 8 * kMiB)});
  EXPECT_EQ(refusal(readPlanResults(file, other)),
            fmt::format("ior-plan.json: the plan of another model ({}; this one is {})",
                        model::digestOf(model), model::digestOf(other)));
  change("phase-4.json", "/mnt/a/", "/mnt/b/");
  EXPECT_EQ(refusal(readPlanResults(file, model)),
            "ior-plan.json: its runs were on two targets, /mnt/a and /mnt/b");
}

TEST_F(PhasePlanResults, AnotherPlanOfTheModelIsRefused) {
  change("ior-plan.json", "\"fsync\": \"model\"", "\"fsync\": \"always\"");
  EXPECT_EQ(refusal(readPlanResults(file, model)),
            "phase-1.json: not the run that ior-plan.json plans: it has fsync 0, not 1");
  change("ior-plan.json", "\"fsync\": \"always\"", "\"fsync\": \"sometimes\"");
  EXPECT_EQ(refusal(readPlanResults(file, model)),
            "ior-plan.json: line 8, column 24: unknown fsync \"sometimes\"; it has to be one of "
            "model, always, never");
}

TEST_F(PhasePlanResults, APlanThatDoesNotNameItsModelIsRefused) {
  change("ior-plan.json", "\"model\"", "\"modell\"");
  EXPECT_NE(refusal(readPlanResults(file, model)).find("\"model\""), std::string::npos);
}

}  // namespace
}  // namespace omnio::ior
