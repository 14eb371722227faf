#include "ior_bridge/estimate.hpp"

#include <gtest/gtest.h>

#include "ior_bridge/runner/phase_results.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/ior_bridge/sample_model.hpp"

namespace omnio::ior {
namespace {

using model::Operation;
using model::PhaseModel;
using test::kMiB;
using test::modelOf;
using test::operation;

constexpr const char* kScript = FIXTURES "/script_three_tests.json";

// The three tests of the script, as the phases that they are of: written by 4 processes, read by 4,
// read by 2; 40 requests of 138240 bytes each.
PhaseModel scriptModel() {
  PhaseModel model = modelOf({});
  model.phases.clear();
  for (int id = 1; id <= 3; ++id) {
    model::Phase phase;
    phase.id = id;
    phase.ranks = id == 3 ? std::vector<int>{0, 1} : std::vector<int>{0, 1, 2, 3};
    phase.operations = {
        operation(id == 1 ? Operation::kWrite : Operation::kRead, 40, 4 * 138240, 138240)};
    phase.operations[0].request_bytes = 138240;
    phase.weight_bytes = model::weightOf(phase, phase.operations[0]);
    phase.io.data_ns = 20'000'000;
    model.phases.push_back(phase);
  }
  return model;
}

std::vector<GivenResult> scriptResults() {
  std::vector<GivenResult> results;
  for (int id = 1; id <= 3; ++id) {
    results.push_back(
        givenResult(std::to_string(id) + "=" + kScript + "#" + std::to_string(id - 1)));
  }
  return results;
}

TEST(Estimate, TheScriptByHand) {
  const base::Result<Estimate> estimate = ior::estimate(scriptModel(), scriptResults());
  ASSERT_TRUE(estimate.ok()) << estimate.failure().sentence;
  ASSERT_EQ(estimate->phases.size(), 3U);
  // 4 * 40 * 138240 bytes are 21.09375 MiB: at 1273.3129 MiB/s, 0.016566 s; and so on.
  EXPECT_EQ(estimate->phases[0].weight_bytes, 22118400U);
  EXPECT_NEAR(estimate->phases[0].time_s.median, 21.09375 / 1273.3129, 1e-12);
  EXPECT_NEAR(estimate->phases[0].time_s.median, 0.0165660, 1e-7);
  EXPECT_NEAR(estimate->phases[2].time_s.median, 10.546875 / 13134.4418, 1e-12);
  EXPECT_NEAR(estimate->phases[2].time_s.median, 0.0008030, 1e-7);
  EXPECT_NEAR(estimate->time_s.median,
              estimate->phases[0].time_s.median + estimate->phases[1].time_s.median +
                  estimate->phases[2].time_s.median,
              1e-15);
  EXPECT_EQ(estimate->weight_bytes, 22118400U + 22118400U + 11059200U);
  EXPECT_NEAR(estimate->measured_s, 0.06, 1e-12);
  for (const PhaseEstimate& phase : estimate->phases) EXPECT_EQ(phase.notes.size(), 0U);
  // (0.0165660 - 0.02) / 0.02, and of bandwidths 1273.3129 to 21.09375 / 0.02.
  EXPECT_NEAR(*estimate->phases[0].timeErrorPercent(), -17.170, 1e-3);
  EXPECT_NEAR(*estimate->phases[0].bandwidthErrorPercent(), 20.729, 1e-3);
  EXPECT_NEAR(*estimate->phases[0].measuredBandwidth(), 1054.6875, 1e-9);
}

TEST(Estimate, IterationsGiveAMedianAndARange) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 4, kMiB, 4 * kMiB)});
  const base::Result<Estimate> estimate = ior::estimate(
      model, {givenResult(std::string("1=") + FIXTURES "/mpiio_collective_3_iterations.json")});
  ASSERT_TRUE(estimate.ok());
  const PhaseEstimate& phase = estimate->phases.at(0);
  EXPECT_EQ(phase.iterations, 3U);
  EXPECT_NEAR(phase.time_s.least, 16 / 1003.8273, 1e-12);
  EXPECT_NEAR(phase.time_s.median, 16 / 729.8250, 1e-12);
  EXPECT_NEAR(phase.time_s.most, 16 / 632.2615, 1e-12);
  EXPECT_EQ(phase.notes,
            (std::vector<std::string>{FIXTURES "/mpiio_collective_3_iterations.json: run with "
                                               "transfers of 262144 bytes, the phase's are of "
                                               "1048576"}));
}

// Equation 2 with the paper's average bandwidth would give 32 / ((100 + 300) / 2) = 0.16 s.
TEST(Estimate, TimesOfAMixedPhaseAdd) {
  const PhaseModel model = modelOf({operation(Operation::kWrite, 4, kMiB, 8 * kMiB),
                                    operation(Operation::kRead, 4, kMiB, 8 * kMiB)});
  PhaseTest test{.phase = 1, .tasks = 4, .iterations = 1, .request_bytes = kMiB};
  test.measurements = {{.operation = Operation::kWrite, .bytes = 16 * kMiB, .total_s = 0.16},
                       {.operation = Operation::kRead, .bytes = 48 * kMiB, .total_s = 0.16}};
  const test::TemporaryDirectory directory;
  test::writeAll(directory / "results.json",
                 jsonOf({.identity = {.model_digest = model::digestOf(model)}, .tests = {test}}));
  const base::Result<Estimate> estimate =
      ior::estimate(model, {givenResult(directory / "results.json")});
  ASSERT_TRUE(estimate.ok()) << estimate.failure().sentence;
  EXPECT_NEAR(estimate->time_s.median, 16 / 100.0 + 16 / 300.0, 1e-9);
  EXPECT_EQ(estimate->phases[0].operations.size(), 2U);
}

// Two phases at the same time, of different processes: 2 s each, 3 s together.
TEST(Estimate, RunsOfAllPhasesTogetherGiveTheTotal) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 4, kMiB, 8 * kMiB)});
  model.phases.push_back(model.phases.front());
  model.phases.back().id = 2;
  model.io = {.data_ns = 2'500'000'000, .waiting_ns = 100};
  model.chain_ns = 4'000'000'000;
  const ResultsIdentity identity{.model_digest = model::digestOf(model)};
  const test::TemporaryDirectory directory;
  const auto write = [&](const std::string& name, double seconds, const ResultsIdentity& of,
                         const std::string& target) {
    std::vector<PhaseTest> tests;
    for (int phase = 1; phase <= 2; ++phase) {
      PhaseTest test{.phase = phase, .tasks = 4, .iterations = 1, .request_bytes = kMiB};
      test.measurements = {{.bytes = 16 * kMiB, .requests = 16, .total_s = 2}};
      tests.push_back(test);
    }
    const auto ns = static_cast<std::int64_t>(seconds * 1e9);
    test::writeAll(
        directory / name,
        jsonOf({.target = target,
                .identity = of,
                .tests = tests,
                .runs = {{.io = {.data_ns = ns - 1000, .sync_ns = 1000}, .chain_ns = 2 * ns}}}));
    return givenResult(directory / name);
  };
  const GivenResult first = write("a.json", 2.9, identity, "/t");
  const base::Result<Estimate> estimate = ior::estimate(
      model, {first, write("b.json", 3, identity, "/t"), write("c.json", 3.1, identity, "/t")});
  ASSERT_TRUE(estimate.ok()) << estimate.failure().sentence;
  ASSERT_TRUE(estimate->whole);
  EXPECT_EQ(estimate->whole->runs, 3U);
  EXPECT_NEAR(estimate->time_s.median, 3, 1e-9);
  EXPECT_NEAR(estimate->time_s.least, 2.9, 1e-9);
  EXPECT_NEAR(estimate->sum.time_s.median, 4, 1e-9);
  EXPECT_NEAR(estimate->whole->sync_s.median, 1e-6, 1e-12);
  EXPECT_NEAR(estimate->whole->variation_percent, 100 * 0.1 / 3, 1e-6);
  EXPECT_NEAR(*estimate->timeErrorPercent(), 20, 1e-6);
  const std::string text = textOf(*estimate, std::nullopt);
  EXPECT_NE(text.find("3 runs, which vary by 3.3 %"), std::string::npos);
  EXPECT_NE(
      text.find("chain of all processes     6.000000  5.800000 .. 6.200000           4.000000  "
                "   +50.0%"),
      std::string::npos)
      << text;

  const base::Result<Estimate> two =
      ior::estimate(model, {first, write("d.json", 3, identity, "/u")});
  ASSERT_FALSE(two.ok());
  EXPECT_NE(two.failure().sentence.find("results of /u, and those of"), std::string::npos);
  const base::Result<Estimate> other =
      ior::estimate(model, {write("e.json", 3, {.model_digest = "1"}, "/t")});
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.failure().sentence.find("results of another model (1; this one is " +
                                          model::digestOf(model) + ")"),
            std::string::npos);
}

// 32 MiB of data, and 4000 files that are made and closed.
PhaseModel modelWithMetadata() {
  PhaseModel model = modelOf({operation(Operation::kWrite, 8, kMiB, 8 * kMiB)});
  model.phases.push_back(test::metadataPhase(model, {{"close", 4000}, {"open", 4000}}, 4000));
  model.phases.back().io = {.metadata_ns = 500'000'000};
  return model;
}

TEST(Estimate, AMetadataPhaseTakesItsCallsOverTheirRate) {
  const PhaseModel model = modelWithMetadata();
  PhaseTest data{.phase = 1, .tasks = 4, .iterations = 1, .request_bytes = kMiB};
  data.measurements = {{.bytes = 32 * kMiB, .requests = 32, .total_s = 2}};
  PhaseTest metadata{.phase = 2, .tasks = 4, .iterations = 1};
  metadata.measurements = {{.is_metadata = true, .requests = 8000, .total_s = 0.4}};
  const test::TemporaryDirectory directory;
  test::writeAll(
      directory / "r.json",
      jsonOf({.target = "/t",
              .identity = {.model_digest = model::digestOf(model)},
              .tests = {data, metadata},
              .runs = {{.io = {.data_ns = 2'000'000'000, .metadata_ns = 400'000'000}}}}));
  const base::Result<Estimate> estimate = ior::estimate(model, {givenResult(directory / "r.json")});
  ASSERT_TRUE(estimate.ok()) << estimate.failure().sentence;
  ASSERT_EQ(estimate->phases.size(), 2U);
  EXPECT_EQ(estimate->phases[1].weight_operations, 8000U);
  EXPECT_NEAR(estimate->phases[1].operations_per_s.median, 20000, 1e-6);
  EXPECT_NEAR(estimate->phases[1].time_s.median, 0.4, 1e-9);
  EXPECT_NEAR(*estimate->phases[1].timeErrorPercent(), -20, 1e-6);
  EXPECT_FALSE(estimate->phases[1].bandwidthErrorPercent());
  EXPECT_NEAR(estimate->sum.time_s.median, 2.4, 1e-9);
  EXPECT_NEAR(estimate->whole->metadata_s.median, 0.4, 1e-9);
  EXPECT_NE(textOf(*estimate, 100.0)
                .find("    2  metadata       8000 calls        20000.0 calls/s     1     0.400000  "
                      "0.400000 .. 0.400000           0.500000     -20.0%\n"),
            std::string::npos)
      << textOf(*estimate, 100.0);
}

constexpr const char* kMdtest = R"(-- started at 11/28/2026 10:00:00 --
SUMMARY rate: (of 3 iterations)
   Operation                      Max            Min           Mean        Std Dev
   ---------                      ---            ---           ----        -------
   File creation     :      10000.000       5000.000       8000.000       2000.000
   File stat         :          0.000          0.000          0.000          0.000
   File removal      :      90000.000      80000.000      85000.000        100.000
-- finished at 11/28/2026 10:00:01 --
)";

TEST(Estimate, WhatMdtestPrintedIsAResultOfAMetadataPhase) {
  const PhaseModel model = modelWithMetadata();
  const test::TemporaryDirectory directory;
  test::writeAll(directory / "phase-2.txt", kMdtest);
  const base::Result<Estimate> estimate =
      ior::estimate(model, {givenResult(directory / "phase-2.txt")});
  ASSERT_TRUE(estimate.ok()) << estimate.failure().sentence;
  EXPECT_EQ(estimate->missing, std::vector<int>{1});
  ASSERT_EQ(estimate->phases.size(), 1U);
  // 4000 files at 8000, 10000 and 5000 a second.
  EXPECT_NEAR(estimate->phases[0].time_s.median, 0.5, 1e-9);
  EXPECT_NEAR(estimate->phases[0].time_s.least, 0.4, 1e-9);
  EXPECT_NEAR(estimate->phases[0].time_s.most, 0.8, 1e-9);
}

TEST(Estimate, ResultsOfMdtestThatDoNotFit) {
  const PhaseModel model = modelWithMetadata();
  const test::TemporaryDirectory directory;
  const auto refusal = [&](const std::string& name, const std::string& text) {
    test::writeAll(directory / name, text);
    const auto estimate = ior::estimate(model, {givenResult(directory / name)});
    const std::string prefix = (directory / name).native() + ": ";
    return estimate ? "(taken)" : estimate.failure().sentence.substr(prefix.size());
  };
  EXPECT_EQ(refusal("phase-2.txt", "-- started --\n"),
            "it has no \"SUMMARY rate\", which mdtest prints at its end: not a result of mdtest, "
            "or the run was aborted");
  EXPECT_EQ(refusal("phase-2.txt", "SUMMARY rate: (of 1 iterations)\n   File stat : 1 1 1 0\n"),
            "it has no rate of \"File creation\", a step of phase 2");
  EXPECT_TRUE(refusal("phase-1.txt", kMdtest)
                  .starts_with("a result of mdtest, and phase 1 is none of metadata: give it as "
                               "ID="));
}

// IOR makes no metadata calls: its results give a total without them.
TEST(Estimate, AMetadataPhaseWithoutAResultIsNamedBesideData) {
  const PhaseModel model = modelWithMetadata();
  const base::Result<Estimate> estimate =
      ior::estimate(model, {givenResult(std::string("1=") + kScript + "#0")});
  ASSERT_TRUE(estimate.ok()) << estimate.failure().sentence;
  EXPECT_TRUE(estimate->missing.empty());
  EXPECT_EQ(estimate->missing_metadata, std::vector<int>{2});
  EXPECT_NE(textOf(*estimate, {})
                .find("phase 2: metadata calls without a result, so the total is without them\n"),
            std::string::npos);
}

TEST(Estimate, EvenNumbersOfIterations) {
  EXPECT_EQ(spreadOf({4, 1, 3, 2}).median, 2.5);
  EXPECT_EQ(spreadOf({4, 1, 3, 2}).least, 1);
  EXPECT_EQ(spreadOf({5}).median, 5);
}

TEST(Estimate, WhichPhaseAResultIsOf) {
  EXPECT_EQ(phaseOfName("runs/phase-12.json"), 12);
  EXPECT_EQ(phaseOfName("phase-3-read.json"), 3);
  EXPECT_EQ(phaseOfName("phase-3-write-2.json"), 3);
  EXPECT_EQ(phaseOfName("phase-.json"), std::nullopt);
  EXPECT_EQ(phaseOfName("phase-3.txt"), 3);
  EXPECT_EQ(phaseOfName("phase-3.log"), std::nullopt);
  EXPECT_EQ(phaseOfName("aphase-3.json"), std::nullopt);
  const GivenResult given = givenResult("2=a=b#1.json#4");
  EXPECT_EQ(given.phase, 2);
  EXPECT_EQ(given.test, 4);
  EXPECT_EQ(given.path, "a=b#1.json");
  EXPECT_EQ(givenResult("a=b.json#1").path, "a=b.json#1");
}

TEST(Estimate, ResultsThatDoNotFit) {
  const PhaseModel model = scriptModel();
  const auto sentence = [&](const std::string& word) {
    const base::Result<Estimate> estimate = ior::estimate(model, {givenResult(word)});
    return estimate.ok() ? "" : estimate.failure().sentence;
  };
  const std::string script = kScript;
  EXPECT_EQ(sentence(script),
            script + ": of which phase it is cannot be told: give it as ID=" + script);
  EXPECT_EQ(sentence("4=" + script), script + ": it is of phase 4, which the model has not");
  EXPECT_EQ(sentence("1=" + script + "#3"), script + ": it has no test 3");
}

TEST(Estimate, PhasesWithoutAResultAreNamed) {
  std::vector<GivenResult> results = scriptResults();
  results.pop_back();
  results.push_back(givenResult(std::string("3=") + kScript + "#0"));  // a write, and it reads
  const base::Result<Estimate> estimate = ior::estimate(scriptModel(), results);
  ASSERT_TRUE(estimate.ok());
  EXPECT_EQ(estimate->missing, std::vector<int>{3});
  EXPECT_EQ(estimate->phases.size(), 2U);
  EXPECT_NE(textOf(*estimate, {}).find("phase 3: no result, so the total is without it\n"),
            std::string::npos);
}

TEST(Estimate, TheTableHasTheLongestPhasesAndOneRowForTheRest) {
  const base::Result<Estimate> estimate = ior::estimate(scriptModel(), scriptResults());
  ASSERT_TRUE(estimate.ok());
  const std::string all = textOf(*estimate, {});
  EXPECT_EQ(all.find("more"), std::string::npos);
  const std::string one = textOf(*estimate, {}, 1);
  EXPECT_NE(one.find("\n more  2 phases"), std::string::npos) << one;
  // The last line, the total, is the same.
  EXPECT_EQ(one.substr(one.find("\ntotal")), all.substr(all.find("\ntotal")));
}

TEST(Estimate, UsageOfThePeakWhereOneIsGiven) {
  const base::Result<Estimate> estimate = ior::estimate(scriptModel(), scriptResults());
  ASSERT_TRUE(estimate.ok());
  EXPECT_EQ(textOf(*estimate, {}).find("usage"), std::string::npos);
  // The first phase used 1054.6875 MiB/s out of 2109.375.
  EXPECT_NE(textOf(*estimate, 2109.375).find("   50.0%"), std::string::npos)
      << textOf(*estimate, 2109.375);
}

}  // namespace
}  // namespace omnio::ior
