#include "core/order/wait_states.hpp"

#include <algorithm>

namespace omnio::order {
namespace {

bool isLonger(const Wait& a, const Wait& b) { return a.waited_ns > b.waited_ns; }

// A wait explains the one that it made longer where it is at least that part of it.
constexpr std::int64_t kLeastPart = 10;
constexpr std::size_t kMostLinks = 32;

}  // namespace

void WaitStates::Sum::add(std::int64_t ns) {
  ++waits;
  waited_ns += ns;
  most_ns = std::max(most_ns, ns);
}

void WaitStates::Sum::add(const Sum& other) {
  waits += other.waits;
  waited_ns += other.waited_ns;
  most_ns = std::max(most_ns, other.most_ns);
}

void WaitStates::take(const MatchedEvent& event) {
  if (!event.waited_ns) {
    ++unmatched_;
    return;
  }
  if (*event.waited_ns <= 0) return;
  const MpiEventRef& call = event.event;
  if (call.process >= by_process_.size()) by_process_.resize(std::size_t{call.process} + 1);
  by_process_[call.process].add(*event.waited_ns);
  by_call_[call.row].add(*event.waited_ns);
  keep({.row = call.row,
        .process = call.process,
        .late = event.late,
        .thread = call.thread,
        .start_ns = call.start_ns,
        .waited_ns = *event.waited_ns});
}

void WaitStates::keep(const Wait& wait) {
  if (wait.process >= kept_.size()) kept_.resize(std::size_t{wait.process} + 1);
  std::vector<Wait>& waits = kept_[wait.process];
  if (waits.size() == kMostKept) {
    if (!isLonger(wait, waits.front())) return;
    std::ranges::pop_heap(waits, isLonger);
    waits.pop_back();
  }
  waits.push_back(wait);
  std::ranges::push_heap(waits, isLonger);
}

const Wait* WaitStates::behind(const Wait& wait) const {
  if (wait.late >= kept_.size()) return nullptr;
  const Wait* found = nullptr;
  std::int64_t most_ns = wait.waited_ns / kLeastPart;
  for (const Wait& each : kept_[wait.late]) {
    // Only the part that lies in the time in which the first one waited. Those that end with it
    // wait for each other, as far as the clocks tell.
    if (each.came_ns() >= wait.came_ns() || each.late == mpi::kNoProcess) continue;
    const std::int64_t common_ns = each.came_ns() - std::max(each.start_ns, wait.start_ns);
    if (common_ns <= most_ns) continue;
    most_ns = common_ns;
    found = &each;
  }
  return found;
}

LatenessChain WaitStates::longestChain() const {
  LatenessChain chain;
  const Wait* wait = nullptr;
  for (const std::vector<Wait>& waits : kept_) {
    for (const Wait& each : waits) {
      if (each.late != mpi::kNoProcess && (wait == nullptr || isLonger(each, *wait))) wait = &each;
    }
  }
  while (wait != nullptr && chain.waits.size() < kMostLinks) {
    chain.waits.push_back(*wait);
    chain.from_ns = wait->start_ns;
    chain.to_ns = wait->came_ns();
    wait = behind(*wait);
  }
  return chain;
}

}  // namespace omnio::order
