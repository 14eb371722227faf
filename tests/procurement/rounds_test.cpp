#include "procurement/rounds.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "procurement/comparison.hpp"

namespace omnio::procurement {
namespace {

constexpr Rounds kRounds;

TEST(Rounds, EachBeginsWithAnotherCandidate) {
  EXPECT_EQ(turnsOf(0, 3), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(turnsOf(1, 3), (std::vector<std::size_t>{1, 2, 0}));
  EXPECT_EQ(turnsOf(3, 3), turnsOf(0, 3));
}

TEST(Rounds, AllLooksAtAllPairsShareTheChanceOfAWrongWinner) {
  EXPECT_EQ(kRounds.looks(), 16);
  EXPECT_DOUBLE_EQ(kRounds.levelOf(3) * 3 * 16, kWrongWinner);
  EXPECT_DOUBLE_EQ((Rounds{.least = 5, .most = 5}.levelOf(2)), kWrongWinner);
}

// How a site behaves: all that makes runs differ but the candidates.
struct Site {
  double noise = 0;        // standard deviation of a run, as a share
  double drift = 0;        // the whole site gets slower by this share from one run to the next
  double wander = 0;       // and by a random share of this size
  double tail = 0;         // the share of runs that something else disturbs,
  double disturbed = 1;    // by a factor of this size on average
  double first_round = 1;  // factor of the first round, on average
};

struct Evaluated {
  std::optional<std::string> winner;
  std::size_t rounds = 0;
};

class Simulation {
 public:
  // An evaluation of candidates with these times, as `omnio evaluate` does it.
  Evaluated evaluate(const std::vector<double>& seconds, const Site& site) {
    std::vector<Candidate> candidates(seconds.size());
    for (std::size_t i = 0; i < seconds.size(); ++i) candidates[i].name = std::to_string(i);
    double state = 0;
    for (std::size_t round = 0; round < kRounds.most; ++round) {
      for (const std::size_t turn : turnsOf(round, seconds.size())) {
        state += site.drift + site.wander * normal_(chance_);
        double factor = std::exp(state + site.noise * normal_(chance_));
        if (uniform_(chance_) < site.tail) factor *= 1 + (site.disturbed - 1) * waits_(chance_);
        if (round == 0) factor *= 1 + (site.first_round - 1) * waits_(chance_);
        candidates[turn].io_s.push_back(seconds[turn] * factor);
      }
      if (round + 1 < kRounds.least) continue;
      const Comparison comparison = compare(model::PhaseModel(), candidates, kRounds);
      if (comparison.winner) return {comparison.winner, round + 1};
    }
    return {std::nullopt, kRounds.most};
  }

 private:
  std::mt19937 chance_{20261129};
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::exponential_distribution<double> waits_;
};

constexpr Site kHardSites[] = {
    {.noise = 0.03},
    {.noise = 0.03, .drift = 0.01, .wander = 0.02},
    {.noise = 0.03, .tail = 0.1, .disturbed = 2},
    {.noise = 0.001, .tail = 0.5, .disturbed = 2},
    {.noise = 0.03, .drift = 0.01, .wander = 0.02, .tail = 0.1, .disturbed = 3, .first_round = 2}};

// Ten thousand of each take half a minute.
int evaluations() { return std::getenv("OMNIO_TEST_ALL") != nullptr ? 10000 : 1000; }

TEST(Rounds, AmongEqualCandidatesAtMostOneEvaluationOfAHundredNamesAWinner) {
  Simulation simulation;
  for (const std::size_t candidates : {2U, 3U}) {
    for (const Site& site : kHardSites) {
      int wrong = 0;
      for (int i = 0; i < evaluations(); ++i) {
        wrong += simulation.evaluate(std::vector<double>(candidates, 10.0), site).winner ? 1 : 0;
      }
      const auto number = &site - kHardSites;
      EXPECT_LE(wrong, evaluations() / 100) << candidates << " candidates, site " << number;
      RecordProperty(fmt::format("wrong of {} candidates, site {}", candidates, number), wrong);
    }
  }
}

TEST(Rounds, CandidatesTenPercentApartAreFound) {
  Simulation simulation;
  int found = 0;
  int wrong = 0;
  std::size_t rounds = 0;
  for (int i = 0; i < evaluations(); ++i) {
    const Evaluated evaluated = simulation.evaluate({11, 10, 11}, {.noise = 0.03});
    found += evaluated.winner == "1" ? 1 : 0;
    wrong += evaluated.winner && evaluated.winner != "1" ? 1 : 0;
    rounds += evaluated.rounds;
  }
  EXPECT_GE(found, 0.95 * evaluations());
  EXPECT_LE(wrong, evaluations() / 100);
  RecordProperty("found", found);
  RecordProperty("rounds, of all evaluations", static_cast<int>(rounds));
}

}  // namespace
}  // namespace omnio::procurement
