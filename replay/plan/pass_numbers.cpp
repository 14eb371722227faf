#include "replay/plan/pass_numbers.hpp"

#include <algorithm>

namespace omnio::replay {
namespace {

constexpr std::int64_t kMostListed = 1 << 20;

}  // namespace

PassNumbers::PassNumbers(std::int64_t first,
                         std::vector<std::pair<std::int64_t, std::int64_t>> loops)
    : first_(first), loops_(std::move(loops)) {
  for (const auto& [step, turns] : loops_) passes_ *= turns;
  least_ = most_ = first_;
  // A number tells its turns where each step is larger than all that smaller ones add up to.
  auto ascending = loops_;
  std::ranges::sort(ascending);
  for (const auto& [step, turns] : ascending) {
    if (turns > 1 && step <= most_ - least_) is_searchable_ = false;
    most_ += std::max<std::int64_t>(0, step * (turns - 1));
    least_ += std::min<std::int64_t>(0, step * (turns - 1));
  }
  if (is_searchable_ || passes_ > kMostListed) return;
  for (std::int64_t pass = 0; pass < passes_; ++pass) sorted_.emplace_back(at(pass), pass);
  std::ranges::sort(sorted_);
  is_searchable_ = true;
}

std::optional<PassNumbers> PassNumbers::of(const model::TurnNumber& number,
                                           const model::LoopPath& path,
                                           const model::TurnValues& at_first) {
  std::vector<std::pair<std::int64_t, std::int64_t>> loops;
  std::size_t known = 0;
  for (const model::EventLoop* loop : path) {
    loops.emplace_back(number.stepAt(loop->place), loop->turns);
    known += loops.back().first != 0 ? 1 : 0;
  }
  if (known == number.steps.size()) return PassNumbers(number.first, std::move(loops));
  const auto passes = model::passesOf(path);
  if (!passes || *passes > kMostListed) return {};
  PassNumbers result;
  result.passes_ = *passes;
  model::TurnValues values = at_first;
  model::forEachTurn(path, values, [&](const model::TurnValues& now) {
    result.each_.push_back(number.at(now, at_first));
    result.sorted_.emplace_back(result.each_.back(), result.sorted_.size());
  });
  std::ranges::sort(result.sorted_);
  result.least_ = result.sorted_.front().first;
  result.most_ = result.sorted_.back().first;
  return result;
}

std::int64_t PassNumbers::at(std::int64_t pass) const {
  if (!each_.empty()) return each_[static_cast<std::size_t>(pass)];
  std::int64_t number = first_;
  for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
    number += pass % loop->second * loop->first;
    pass /= loop->second;
  }
  return number;
}

std::optional<std::int64_t> PassNumbers::find(std::int64_t number) const {
  if (number < least_ || number > most_) return {};
  if (!sorted_.empty()) {
    const auto found = std::ranges::lower_bound(sorted_, number, {},
                                                &std::pair<std::int64_t, std::int64_t>::first);
    if (found == sorted_.end() || found->first != number) return {};
    return found->second;
  }
  // From the largest step on.
  std::vector<std::int64_t> turns(loops_.size(), 0);
  std::vector<std::size_t> order(loops_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, std::greater<>(), [this](std::size_t i) { return loops_[i].first; });
  std::int64_t rest = number - first_;
  for (const std::size_t i : order) {
    const auto& [step, count] = loops_[i];
    if (count == 1 || step == 0) continue;
    turns[i] = std::min(rest / step, count - 1);
    rest -= turns[i] * step;
  }
  if (rest != 0) return {};
  std::int64_t pass = 0;
  for (std::size_t i = 0; i < loops_.size(); ++i) pass = pass * loops_[i].second + turns[i];
  return pass;
}

std::optional<std::int64_t> PassNumbers::step() const {
  if (!each_.empty()) return {};
  std::optional<std::int64_t> step;
  std::int64_t expected = 0;
  for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
    if (loop->second == 1) continue;
    if (!step) {
      step = loop->first;
    } else if (loop->first != expected) {
      return {};
    }
    expected = loop->first * loop->second;
  }
  return step.value_or(0);
}

}  // namespace omnio::replay
