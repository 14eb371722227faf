// What the matcher does so that what it holds stays within bounds.
#include <algorithm>

#include "core/order/matcher.hpp"

namespace omnio::order {

void MpiMatcher::sweep() {
  messages_.sweep();
  collectives_.sweep();
  epochs_.sweep();
}

void MpiMatcher::forgetOldestRequest(Process& process) {
  const auto oldest = process.requests.begin();
  OpenOperation* operation = oldest->second;
  process.forgotten = oldest->first;
  process.requests.erase(oldest);
  --requests_;
  fetch(operation);
  if (operation->outstanding) {
    giveUp(operation, Match::kGivenUp);
    process.receives.forget(operation->post, operation->asked);
    operation->outstanding = false;
  }
  events_.release(operation);
}

void MpiMatcher::forgetRequests() {
  // Some more than one: each time costs a look at all processes.
  const std::size_t wanted = limits_.most_requests - limits_.most_requests / 16;
  while (requests_ > wanted) {
    Process& most = *std::max_element(
        processes_.begin(), processes_.end(),
        [](const Process& a, const Process& b) { return a.requests.size() < b.requests.size(); });
    for (std::size_t n = std::min(most.requests.size() / 2 + 1, requests_ - wanted); n > 0; --n) {
      forgetOldestRequest(most);
    }
  }
}

void MpiMatcher::keepBounds() {
  if (requests_ > limits_.most_requests) forgetRequests();
  if (epochs_.size() > limits_.most_epochs) epochs_.forgetOldest();
  if (events_.openCount() < std::min(next_sweep_, limits_.most_open)) return;
  sweep();
  // Some more than one: each time costs a look at all that is open.
  const bool is_full = events_.openCount() >= limits_.most_open;
  while (is_full && events_.openCount() >= limits_.most_open - limits_.most_open / 16) {
    const std::vector<OpenOperation*> oldest = events_.oldest();
    if (oldest.empty()) break;
    for (OpenOperation* operation : oldest) OpenEvents::keep(operation);
    for (OpenOperation* operation : oldest) {
      giveUp(operation, Match::kGivenUp);
      events_.release(operation);
    }
  }
  next_sweep_ = std::max(kFirstSweep, 2 * events_.openCount());
}

void MpiMatcher::giveUp(OpenOperation* operation, Match match) {
  if (operation->facts.match != Match::kOpen) return;
  switch (operation->facts.kind) {
    case OperationKind::kCollective:
      collectives_.giveUp(operation, match);
      break;
    case OperationKind::kPost:
    case OperationKind::kStart:
    case OperationKind::kComplete:
    case OperationKind::kWait:
      epochs_.giveUp(operation, match);
      break;
    case OperationKind::kReceive:
    case OperationKind::kProbe:
      giveUpReceive(operation, match);
      break;
    default:
      messages_.giveUp(operation, match);
  }
}

void MpiMatcher::giveUpReceive(OpenOperation* operation, Match match) {
  const MpiOperation& facts = operation->facts;
  if (facts.seq != 0) {
    fetch(operation);
    if (facts.match == Match::kOpen) messages_.giveUp(operation, match);
    return;
  }
  // One that nobody has found complete yet may still be somebody's counterpart.
  events_.resolve(operation, match);
  if (operation->outstanding || operation->post == 0) return;
  processes_[facts.started.process].receives.giveUp(
      operation->post, {facts.own->group, facts.peer, facts.tag}, final_);
  handOn();
}

}  // namespace omnio::order
