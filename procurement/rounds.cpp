#include "procurement/rounds.hpp"

#include <algorithm>

namespace omnio::procurement {

double Rounds::levelOf(std::size_t candidates) const {
  const std::size_t pairs = candidates * (candidates - 1) / 2;
  return kWrongWinner / static_cast<double>(std::max<std::size_t>(pairs, 1) * looks());
}

std::vector<std::size_t> turnsOf(std::size_t round, std::size_t candidates) {
  std::vector<std::size_t> turns(candidates);
  for (std::size_t i = 0; i < candidates; ++i) turns[i] = (round + i) % candidates;
  return turns;
}

}  // namespace omnio::procurement
