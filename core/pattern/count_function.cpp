#include "core/pattern/count_function.hpp"

namespace omnio::pattern {
namespace {

__extension__ using Wide = __int128;

std::optional<std::int64_t> narrow(Wide value) {
  if (value > INT64_MAX || value < INT64_MIN) return {};
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::optional<std::int64_t> CountFunction::at(std::int64_t count) const {
  if (shared != 0 && shared % count != 0) return {};
  return narrow(Wide{constant} + Wide{per_count} * count + shared / count);
}

std::optional<std::int64_t> RankCountFunction::at(std::int64_t rank, std::int64_t count) const {
  const auto from = base.at(count);
  const auto by = per_rank.at(count);
  if (!from || !by) return {};
  return narrow(Wide{*from} + Wide{*by} * rank);
}

std::optional<CountFunction> fitCounts(std::span<const std::int64_t> counts,
                                       std::span<const std::int64_t> values, Scaling scaling) {
  if (values.size() < 2 || values[0] == values[1]) return CountFunction{.constant = values[0]};
  if (scaling == Scaling::kStrong) {
    const auto total = narrow(Wide{values[0]} * counts[0]);
    if (total && Wide{values[1]} * counts[1] == *total) return CountFunction{.shared = *total};
  }
  const Wide rise = Wide{values[1]} - values[0];
  const std::int64_t more = counts[1] - counts[0];
  if (more == 0 || rise % more != 0) return {};
  const auto slope = narrow(rise / more);
  const auto constant = slope ? narrow(Wide{values[0]} - Wide{*slope} * counts[0]) : std::nullopt;
  if (!constant) return {};
  return CountFunction{.constant = *constant, .per_count = *slope};
}

std::optional<std::int64_t> RankValues::step() const {
  if (values.size() < 2) return 0;
  const Wide step = Wide{values[1]} - values[0];
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (Wide{values[i]} - values[i - 1] != step) return {};
  }
  return narrow(step);
}

std::optional<RankCountFunction> fitRanksAndCounts(std::span<const RankValues> at_counts,
                                                   Scaling scaling) {
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> steps;
  for (const RankValues& at : at_counts) {
    const auto step = at.step();
    if (!step) return {};
    counts.push_back(at.count);
    steps.push_back(*step);
  }
  const auto fit = [&]() -> std::optional<RankCountFunction> {
    std::vector<std::int64_t> bases;
    for (std::size_t i = 0; i < at_counts.size(); ++i) {
      const auto base = narrow(Wide{at_counts[i].values[0]} - Wide{steps[i]} * at_counts[i].first);
      if (!base) return {};
      bases.push_back(*base);
    }
    const auto base = fitCounts(counts, bases, scaling);
    const auto per_rank = fitCounts(counts, steps, scaling);
    if (!base || !per_rank) return {};
    return RankCountFunction{.base = *base, .per_rank = *per_rank};
  };
  if (at_counts.size() != 2) return fit();
  const bool first_alone = at_counts[0].values.size() == 1;
  const bool second_alone = at_counts[1].values.size() == 1;
  if (first_alone == second_alone) return fit();
  const std::size_t alone = first_alone ? 0 : 1;
  const std::size_t others = 1 - alone;
  if (scaling == Scaling::kStrong && Wide{steps[others]} * counts[others] % counts[alone] == 0) {
    // A part of a total, if the rest is a constant then.
    const auto part = narrow(Wide{steps[others]} * counts[others] / counts[alone]);
    steps[alone] = part.value_or(0);
    const auto fitted = fit();
    if (fitted && fitted->base == CountFunction{.constant = fitted->base.constant}) return fitted;
  }
  steps[alone] = steps[others];
  return fit();
}

}  // namespace omnio::pattern
