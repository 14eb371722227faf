// Rounds of runs: each is one run on each candidate, and each begins with another candidate, so
// that what changes on a site from hour to hour is the same for all. The runs of a round are
// compared with each other (base::ratioByRounds).
//
// How many rounds there are follows from a rule that is fixed before the first: after `least`
// rounds and after each further one the candidates are compared, until one is faster than each of
// the others, and at most `most` times. The chance that a wrong winner is named, over all looks and
// all pairs of candidates, is at most kWrongWinner: each look at each pair has an equal part of it
// (Bonferroni; alpha spending in equal parts). Rules with fewer looks or with wider early bounds
// (O'Brien and Fleming) save a round or two, and are harder to check by hand.
#pragma once

#include <cstddef>
#include <vector>

namespace omnio::procurement {

inline constexpr double kWrongWinner = 0.01;

struct Rounds {
  std::size_t least = 5;
  std::size_t most = 20;

  std::size_t looks() const { return most - least + 1; }
  // The level of the interval of one pair at one look.
  double levelOf(std::size_t candidates) const;
};

// The candidates in the order in which they have their turns in that round, the first of which is
// 0.
std::vector<std::size_t> turnsOf(std::size_t round, std::size_t candidates);

}  // namespace omnio::procurement
