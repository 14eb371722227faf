#include "replay/plan/pass_numbers.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace omnio::replay {
namespace {

constexpr std::int64_t kMostListed = 1 << 20;
constexpr std::size_t kDeepest = 64;  // as documents are nested

}  // namespace

PassNumbers::PassNumbers(std::int64_t first,
                         std::vector<std::pair<std::int64_t, std::int64_t>> loops, Search search)
    : first_(first), loops_(std::move(loops)), descending_(loops_.size()) {
  for (const auto& [step, turns] : loops_) passes_ *= turns;
  least_ = most_ = first_;
  std::iota(descending_.begin(), descending_.end(), std::size_t{0});
  std::ranges::sort(descending_, std::greater<>(), [this](std::size_t i) { return loops_[i]; });
  for (auto i = descending_.rbegin(); i != descending_.rend(); ++i) {
    const auto& [step, turns] = loops_[*i];
    if (turns > 1 && step <= most_ - least_) tell_ = false;
    most_ += std::max<std::int64_t>(0, step * (turns - 1));
    least_ += std::min<std::int64_t>(0, step * (turns - 1));
  }
  if (search == Search::kNo || tell_ || passes_ > kMostListed) return;
  for (std::int64_t pass = 0; pass < passes_; ++pass) sorted_.emplace_back(at(pass), pass);
  std::ranges::sort(sorted_);
}

std::optional<PassNumbers> PassNumbers::of(const model::TurnNumber& number,
                                           const model::LoopPath& path,
                                           const model::TurnValues& at_first, Search search) {
  std::vector<std::pair<std::int64_t, std::int64_t>> loops;
  std::size_t known = 0;
  for (const model::EventLoop* loop : path) {
    loops.emplace_back(number.stepAt(loop->place), loop->turns);
    known += loops.back().first != 0 ? 1 : 0;
  }
  if (known == number.steps.size()) return PassNumbers(number.first, std::move(loops), search);
  const auto passes = model::passesOf(path);
  if (!passes || *passes > kMostListed) return {};
  PassNumbers result;
  result.tell_ = false;
  result.passes_ = *passes;
  model::TurnValues values = at_first;
  model::forEachTurn(path, values, [&](const model::TurnValues& now) {
    result.each_.push_back(number.at(now, at_first));
  });
  const auto [least, most] = std::ranges::minmax(result.each_);
  result.least_ = least;
  result.most_ = most;
  if (search == Search::kNo) return result;
  for (std::int64_t pass = 0; pass < *passes; ++pass) {
    result.sorted_.emplace_back(result.at(pass), pass);
  }
  std::ranges::sort(result.sorted_);
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
  if (!tell_) return {};
  std::array<std::int64_t, kDeepest> turns{};
  if (loops_.size() > turns.size()) return {};
  std::int64_t rest = number - first_;
  for (const std::size_t i : descending_) {
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
