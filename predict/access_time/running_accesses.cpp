#include "predict/access_time/running_accesses.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace omnio::access_time {

RunningAccesses::RunningAccesses(const std::vector<Access>& accesses, const SecondsOf& seconds_of,
                                 std::size_t threads)
    : accesses_(accesses),
      seconds_of_(seconds_of),
      uses_(threads),
      kind_of_(accesses.size(), kNone) {}

void RunningAccesses::moveTo(double time_s) {
  if (time_s <= now_s_) return;
  at_once_s_ += (time_s - now_s_) * static_cast<double>(count_);
  now_s_ = time_s;
}

void RunningAccesses::begin(std::size_t thread, std::uint32_t access) {
  // Differences of small sums are exact.
  if (count_ == 0) at_once_s_ = 0;
  uses_[thread] = {.ends_at = 1, .began_s = now_s_, .at_once_s = at_once_s_};
  ++count_;
  if (accesses_[access].is_by_turns) {
    queue_.emplace_back(thread, access);
    if (queue_.size() == 1) turn_ = {.left = 1, .since_s = now_s_};
    if (!changeNumber()) rateTurn();
    return;
  }
  std::uint32_t& number = kind_of_[access];
  if (number != kNone) {
    Kind& kind = kinds_[number];
    uses_[thread].ends_at += doneOf(kind);
    uses_[kind.last].next = thread;
    kind.last = thread;
    changeNumber();
    return;
  }
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(kinds_.size()));
    kinds_.emplace_back();
  }
  number = free_.back();
  free_.pop_back();
  kinds_[number] = {.access = access, .since_s = now_s_, .first = thread, .last = thread};
  if (changeNumber()) return;
  kinds_[number].takes_s = secondsOf(access);
  ends_.push_back(endOf(number));
  std::ranges::push_heap(ends_, std::greater<>());
}

// The use ends now.
RunningAccesses::Ended RunningAccesses::endedUse(std::size_t thread) {
  const Use& use = uses_[thread];
  Ended ended{
      .thread = thread, .seconds = now_s_ - use.began_s, .at_once = static_cast<double>(count_)};
  if (ended.seconds > 0) ended.at_once = (at_once_s_ - use.at_once_s) / ended.seconds;
  --count_;
  return ended;
}

RunningAccesses::Ended RunningAccesses::endTurn() {
  const Ended ended = endedUse(queue_.front().first);
  queue_.pop_front();
  turn_ = queue_.empty() ? Turn{} : Turn{.left = 1, .since_s = now_s_};
  if (!changeNumber()) rateTurn();
  return ended;
}

// How many are in the queue, or under way at all, has changed.
void RunningAccesses::rateTurn() {
  if (queue_.empty()) return;
  if (turn_.takes_s > 0) {
    turn_.left = std::max(turn_.left - (now_s_ - turn_.since_s) / turn_.takes_s, 0.0);
  }
  turn_.since_s = now_s_;
  turn_.takes_s = secondsOf(queue_.front().second) / static_cast<double>(queue_.size());
}

RunningAccesses::Ended RunningAccesses::endFirst() {
  if (ends_.empty() || turn_.endsAt() < firstEnd()) return endTurn();
  const std::uint32_t number = ends_.front().second;
  std::ranges::pop_heap(ends_, std::greater<>());
  ends_.pop_back();
  Kind& kind = kinds_[number];
  const Use& use = uses_[kind.first];
  const Ended ended = endedUse(kind.first);
  if (kind.first == kind.last) {
    kind_of_[kind.access] = kNone;
    kind.access = kNone;
    free_.push_back(number);
    changeNumber();
    return ended;
  }
  kind.first = use.next;
  // One that is under way all the time would lose digits.
  constexpr double kMostDone = 1024;
  if (const double done = doneOf(kind); done > kMostDone) {
    for (std::size_t thread = kind.first;; thread = uses_[thread].next) {
      uses_[thread].ends_at -= done;
      if (thread == kind.last) break;
    }
    kind.done = 0;
    kind.since_s = now_s_;
  }
  if (changeNumber()) return ended;
  ends_.push_back(endOf(number));
  std::ranges::push_heap(ends_, std::greater<>());
  return ended;
}

// One that takes no time ends before any passes.
double RunningAccesses::doneOf(const Kind& kind) const {
  return kind.takes_s > 0 ? kind.done + (now_s_ - kind.since_s) / kind.takes_s : kind.done;
}

RunningAccesses::End RunningAccesses::endOf(std::uint32_t number) const {
  const Kind& kind = kinds_[number];
  return {now_s_ + (uses_[kind.first].ends_at - doneOf(kind)) * kind.takes_s, number};
}

// After the count has changed. Where n changes too, all accesses go on with that, and all ends are
// others.
bool RunningAccesses::changeNumber() {
  const std::size_t step = std::max<std::size_t>(std::bit_floor(count_) / kInDoubling, 1);
  const std::size_t away = count_ > number_ ? count_ - number_ : number_ - count_;
  // Where it goes up and down by some, it shall not change each time.
  if (away <= step / 2 + step / 4) return false;
  number_ = (count_ + step / 2) / step * step;
  ends_.clear();
  for (std::uint32_t i = 0; i < kinds_.size(); ++i) {
    Kind& kind = kinds_[i];
    if (kind.access == kNone) continue;
    kind.done = doneOf(kind);
    kind.since_s = now_s_;
    kind.takes_s = secondsOf(kind.access);
    ends_.push_back(endOf(i));
  }
  std::ranges::make_heap(ends_, std::greater<>());
  rateTurn();
  return true;
}

double RunningAccesses::secondsOf(std::uint32_t access) {
  // Programs of millions of sizes have each but once.
  constexpr std::size_t kMostKept = 1U << 20U;
  if (asked_.size() >= kMostKept) asked_.clear();
  const auto [found, is_new] = asked_.try_emplace(std::uint64_t{access} << 32U | number_, 0.0);
  if (is_new) {
    Access asked = accesses_[access];
    asked.processes = static_cast<double>(number_);
    found->second = std::max(seconds_of_(asked), 0.0);
  }
  return found->second;
}

}  // namespace omnio::access_time
