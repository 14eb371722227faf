#include "procurement/comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/ior_bridge/sample_model.hpp"

namespace omnio::procurement {
namespace {

using model::Operation;
using test::kMiB;
using test::modelOf;
using test::operation;

model::PhaseModel sampleModel() {
  return modelOf({operation(Operation::kWrite, 4, kMiB, 8 * kMiB)});  // 16 MiB
}

Candidate candidate(const std::string& name, std::vector<double> times) {
  Candidate made;
  made.name = name;
  made.phases[1] = {.all_s = times, .write_s = times, .read_s = {}};
  made.io_s = std::move(times);
  return made;
}

TEST(Comparison, OfOneRunNothingIsSure) {
  const Comparison result = compare(sampleModel(), {candidate("a", {1}), candidate("b", {50})});
  EXPECT_FALSE(result.winner);
  EXPECT_EQ(result.not_told_apart, std::vector<std::string>{"b"});
  EXPECT_NE(textOf(result, 10).find("no winner: a cannot be told from b; of one run"),
            std::string::npos);
}

TEST(Comparison, TheRankingAndItsFigures) {
  Candidate fast = candidate("fast", {1.99, 2, 2.01});
  fast.peak = {.write_mib_s = 16, .read_mib_s = 1, .source = "fast/peak.json"};
  const Comparison result =
      compare(sampleModel(), {candidate("slow, \"old\"", {3.98, 4, 4.02}), fast});
  EXPECT_EQ(result.winner, "fast");
  EXPECT_EQ(result.ranking[0].candidate.name, "fast");
  EXPECT_NEAR(result.ranking[0].bandwidth_mib_s, 8, 1e-3);
  EXPECT_NEAR(result.ranking[1].to_best.middle, 2, 1e-3);
  EXPECT_TRUE(result.ranking[1].to_best.isSlower());
  EXPECT_EQ(result.ranking[1].slowest_phase, 1);
  // 16 MiB at 16 MiB/s are 1 s of the 2.
  EXPECT_NEAR(*result.phases[0].peak_share[0].write, 0.5, 1e-4);
  EXPECT_FALSE(result.phases[0].peak_share[0].read) << "nothing is read";
  EXPECT_NEAR(*result.ranking[0].peak_share.write, 0.5, 1e-4);
  EXPECT_FALSE(result.phases[0].peak_share[1].write) << "no peak";
  EXPECT_NE(textOf(result, 10)
                .find("share of peak, %  fast write  read\n"
                      "         phase 1        50.0     -\n"
                      "      all phases        50.0     -\n"
                      "     peak, MiB/s        16.0   1.0\n"),
            std::string::npos)
      << textOf(result, 10);
  const std::string csv = csvOf(result);
  EXPECT_TRUE(
      csv.starts_with("candidate,phase,weight_bytes,runs,time_s,least_95,most_95,write_peak_share,"
                      "read_peak_share\n"
                      "fast,total,16777216,3,"));
  EXPECT_EQ(csv.find('\r'), std::string::npos);
  EXPECT_NE(csv.find("\n\"slow, \"\"old\"\"\",1,16777216,3,"), std::string::npos);
  EXPECT_NE(textOf(result, 10).find("fast is the fastest"), std::string::npos);
  EXPECT_NE(jsonOf(result).find("\"winner\": \"fast\""), std::string::npos);
}

// Mendez's equation 5, SystemUsage = BW_MD / BW_PK, of writes and of reads.
TEST(Comparison, SharesOfThePeakAreOfWritesAndOfReads) {
  model::PhaseModel model = modelOf({operation(Operation::kWrite, 4, kMiB, 8 * kMiB),
                                     operation(Operation::kRead, 2, kMiB, 8 * kMiB)});
  model.phases.push_back(model.phases[0]);  // 16 MiB written and 8 read, twice
  model.phases[1].id = 2;
  Candidate each{.name = "a",
                 .target = {},
                 .sources = {},
                 .origins = {},
                 .kind = {},
                 .io_s = {5, 5},
                 .phases = {},
                 .runs = {},
                 .peak = Peak{.write_mib_s = 32, .read_mib_s = 16, .source = {}}};
  each.phases[1] = {.all_s = {3, 3}, .write_s = {1, 1}, .read_s = {2, 2}};
  each.phases[2] = {.all_s = {2, 2}, .write_s = {}, .read_s = {}};  // as a trace has it
  Candidate other = each;
  other.name = "b";
  other.peak.reset();
  const Comparison result = compare(model, {each, other});
  EXPECT_NEAR(*result.phases[0].peak_share[0].write, 0.5, 1e-9);
  EXPECT_NEAR(*result.phases[0].peak_share[0].read, 0.25, 1e-9);
  EXPECT_FALSE(result.phases[1].peak_share[0].write);
  EXPECT_NEAR(*result.ranking[0].peak_share.write, 0.5, 1e-9) << "of the phases that are known";
  EXPECT_NEAR(*result.ranking[0].peak_share.read, 0.25, 1e-9);
}

TEST(Comparison, WhatIsSaidBesideTheVerdict) {
  model::PhaseModel model = sampleModel();
  model.source_whole = false;
  model.io.data_ns = 1'500'000'000;
  model.phases[0].io.data_ns = 1'250'000'000;
  Candidate without_phases = candidate("b", {3, 3.1});
  without_phases.phases.clear();
  const Comparison result = compare(model, {candidate("a", {1, 1.1}), without_phases});
  EXPECT_EQ(warningsOf(result),
            std::vector<std::string>{"the model was made from a trace that is not whole"});
  EXPECT_EQ(notesOf(result),
            (std::vector<std::string>{"the application took 1.5 s where it was recorded (one run)",
                                      "b has no times of single phases"}));
  EXPECT_EQ(result.phases[0].application_s, 1.25);
  EXPECT_TRUE(result.phases[0].write_times[0]);
  EXPECT_FALSE(result.phases[0].read_times[0]);
  for (const std::string& sentence : notesOf(result)) {
    EXPECT_NE(textOf(result, 10).find("\n" + sentence + "\n"), std::string::npos) << sentence;
  }
}

TEST(Comparison, ThePageHasThePhasesThatTakeLongest) {
  model::PhaseModel model = sampleModel();
  Candidate first = candidate("a", {1, 1});
  while (model.phases.size() < kMostPagePhases + 10) {
    model::Phase phase = model.phases.front();
    phase.id = static_cast<int>(model.phases.size()) + 1;
    first.phases[phase.id] = {.all_s = {1.0 + phase.id}, .write_s = {}, .read_s = {}};
    model.phases.push_back(phase);
  }
  Candidate second = first;
  second.name = "b";
  const Comparison result = compare(model, {first, second});
  const std::string data = pageDataOf(
      result, {.made = "", .version = "1", .model = "m", .all_command = "omnio compare m --all"});
  EXPECT_NE(data.find("\"phases_left_out\":10"), std::string::npos);
  EXPECT_EQ(data.find("\"phase\":10,"), std::string::npos) << "among the ten shortest";
  EXPECT_NE(data.find("\"phase\":11,"), std::string::npos);
  EXPECT_NE(jsonOf(result).find("\"phase\": 10,"), std::string::npos);
}

TEST(Comparison, WithoutAWinnerTheSlowerOnesAreNamed) {
  const Comparison result =
      compare(sampleModel(), {candidate("a", {1, 1.1, 1.05}), candidate("b", {1.02, 1.1, 1.06}),
                              candidate("c", {2, 2.1, 2.05})});
  EXPECT_EQ(result.slower, std::vector<std::string>{"c"});
  EXPECT_NE(textOf(result, 10).find("no winner: a cannot be told from b; c is slower\n"),
            std::string::npos);
}

// What is the same for both in a round does not hide what differs.
TEST(Comparison, RunsOfARoundAreComparedWithEachOther) {
  const auto of = [](const std::optional<Rounds>& rounds) {
    return compare(sampleModel(),
                   {candidate("a", {1, 2, 4, 8, 16}), candidate("b", {1.1, 2.21, 4.4, 8.81, 17.6})},
                   rounds);
  };
  EXPECT_FALSE(of({}).winner);
  const Comparison result = of(Rounds{.least = 5, .most = 20});
  EXPECT_EQ(result.winner, "a");
  EXPECT_NEAR(result.ranking[1].to_best.middle, 1.1, 1e-2);
  EXPECT_NE(textOf(result, 10).find(" 99 %"), std::string::npos) << textOf(result, 10);
  EXPECT_NE(jsonOf(result).find("\"interval_99\""), std::string::npos);
  EXPECT_NE(jsonOf(result).find("\"wrong_winner\": 0.01"), std::string::npos);
}

TEST(Comparison, ACandidateFromElsewhereHasNoRoundsInCommon) {
  Candidate elsewhere = candidate("b", {1.1, 2.21, 4.4, 8.81, 17.6});
  elsewhere.is_elsewhere = true;
  const Comparison result =
      compare(sampleModel(), {candidate("a", {1, 2, 4, 8, 16}), elsewhere}, Rounds());
  EXPECT_FALSE(result.winner);
}

TEST(Comparison, OneCandidateAloneHasNoWinner) {
  const Comparison result = compare(sampleModel(), {candidate("a", {1, 1.1})});
  EXPECT_FALSE(result.winner);
  EXPECT_NE(textOf(result, 10).find("\na is alone: there is nothing to compare it with\n"),
            std::string::npos);
}

// Five runs with 3 % noise, two equal candidates and one that is 10 % slower.
TEST(Comparison, OfAThousandExperimentsFewAreWrong) {
  constexpr int kExperiments = 1000;
  constexpr std::size_t kRuns = 5;
  std::mt19937 chance(20261125);
  std::normal_distribution<double> noise(0, 0.03);
  const std::vector<std::pair<std::string, double>> truth = {{"a", 10}, {"b", 10}, {"c", 11}};
  const model::PhaseModel model = sampleModel();
  int found = 0;
  int wrong = 0;
  int covered = 0;
  int pairs_covered = 0;
  for (int i = 0; i < kExperiments; ++i) {
    std::vector<Candidate> candidates;
    for (const auto& [name, seconds] : truth) {
      std::vector<double> times;
      while (times.size() < kRuns) times.push_back(seconds * std::exp(noise(chance)));
      candidates.push_back(candidate(name, times));
    }
    const auto covers = [](const Interval& interval, double value) {
      return interval.least <= value && value <= interval.most;
    };
    bool all = true;
    for (std::size_t x = 0; x < truth.size(); ++x) {
      covered += covers(*measureOf(candidates[x].io_s).interval, truth[x].second) ? 1 : 0;
      for (std::size_t y = x + 1; y < truth.size(); ++y) {
        all = all &&
              covers(*base::ratioOf(candidates[x].io_s, candidates[y].io_s, base::levelOfPair(3))
                          .interval,
                     truth[x].second / truth[y].second);
      }
    }
    pairs_covered += all ? 1 : 0;
    const Comparison result = compare(model, std::move(candidates));
    wrong += result.winner ? 1 : 0;
    // Of the two that are equal, the first of the ranking is surely faster than the slow one.
    const ComparedCandidate& last = result.ranking.back();
    found += last.candidate.name == "c" && last.to_best.isSlower() ? 1 : 0;
  }
  EXPECT_GE(found, 0.80 * kExperiments);
  EXPECT_LE(wrong, 0.05 * kExperiments);
  EXPECT_GE(covered, 0.93 * 3 * kExperiments);
  EXPECT_LE(covered, 0.97 * 3 * kExperiments);
  EXPECT_GE(pairs_covered, 0.93 * kExperiments);
  EXPECT_LE(pairs_covered, 0.97 * kExperiments);
  RecordProperty("slower found", found);
  RecordProperty("wrong winner", wrong);
  RecordProperty("totals covered, of 3000", covered);
  RecordProperty("all ratios covered", pairs_covered);
}

// Two phases alike, one of metadata, and a candidate that ran all of them together.
struct BesideSums : testing::Test {
  model::PhaseModel model = sampleModel();
  Candidate together = candidate("life", {10, 20});

  BesideSums() {
    model.phases.push_back(model.phases[0]);
    model.phases[1].id = 2;
    model.phases.push_back(test::metadataPhase(model, {{"stat", 8}}));
    together.kind = TimeKind::kTogether;
    together.phases[1].all_s = {1, 2};
    together.phases[2].all_s = {4, 8};
    together.phases[3].all_s = {100, 100};
    together.runs.resize(2);
  }
};

TEST_F(BesideSums, AreTheSumsOverTheDataPhasesRunByRun) {
  ASSERT_TRUE(setBesideSums(model, together));
  EXPECT_EQ(together.io_s, (std::vector<double>{5, 10}));
  EXPECT_EQ(together.kind, TimeKind::kSum);
  Candidate ior = candidate("ior", {5, 10});
  ior.kind = TimeKind::kSum;
  ior.phases[2] = ior.phases[1];
  const Comparison result = compare(model, {together, ior});
  EXPECT_EQ(result.kind, TimeKind::kSum);
  EXPECT_EQ(notesOf(result).at(0),
            "I/O times are sums over the phases, also of life, since others ran them one by one");
  // A row for both, and one for each.
  EXPECT_NE(textOf(result, 10).find("\n  1-2"), std::string::npos) << textOf(result, 10);
  EXPECT_EQ(textOf(result, 10, true).find("\n  1-2"), std::string::npos);
  EXPECT_NEAR(result.families.at(0).times.at(0)->middle, std::sqrt(50), 1e-9);
}

TEST_F(BesideSums, WantATimeOfEachPhaseInEachRun) {
  Candidate short_of_one = together;
  short_of_one.phases[2].all_s = {4};
  EXPECT_FALSE(setBesideSums(model, short_of_one));
  EXPECT_EQ(short_of_one.io_s, together.io_s);
  short_of_one.phases.erase(2);
  EXPECT_FALSE(setBesideSums(model, short_of_one));
}

}  // namespace
}  // namespace omnio::procurement
