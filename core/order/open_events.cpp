#include "core/order/open_events.hpp"

#include <utility>

namespace omnio::order {
namespace {

constexpr std::uint64_t kNoId = ~std::uint64_t{0};

}  // namespace

OpenEvents::OpenEvents(MpiPictureSink& sink, WaitingRules rules)
    : sink_(sink), rules_(std::move(rules)) {}

void OpenEvents::open(const MpiEventRef& ref, const event::Event& event) {
  if (free_events_.empty()) {
    current_ = static_cast<std::uint32_t>(events_.size());
    events_.emplace_back();
  } else {
    current_ = free_events_.back();
    free_events_.pop_back();
  }
  Held& held = events_[current_];
  held.ref = ref;
  held.id = next_id_++;
  held.open = 1;
  ++open_count_;
  sink_.seen(held.id, ref, event);
}

void OpenEvents::add(OpenOperation* operation, Part part) {
  Held& held = events_[current_];
  const bool is_open = operation->facts.match == Match::kOpen;
  // More events than any operation has: the trace is damaged, and this one stands without it.
  if (is_open && operation->held_count == operation->held.size()) return;
  keep(operation);
  held.parts.push_back({&operation->facts, part});
  held.operations.push_back(operation);
  if (is_open) {
    operation->held[operation->held_count++] = current_;
    ++held.open;
  }
}

void OpenEvents::close() {
  Held& held = events_[current_];
  if (--held.open == 0) {
    settle(current_);
    return;
  }
  // Some that have been settled since stand between older ones that are open.
  if (ages_.size() > 2 * open_count_ + 1024) {
    std::erase_if(ages_, [this](const Age& age) { return events_[age.slot].id != age.id; });
  }
  ages_.push_back({current_, held.id});
}

OpenOperation* OpenEvents::make(OperationKind kind) {
  if (free_operations_.empty()) {
    free_operations_.push_back(static_cast<std::uint32_t>(operations_.size()));
    operations_.emplace_back();
  }
  const std::uint32_t index = free_operations_.back();
  free_operations_.pop_back();
  OpenOperation& made = operations_[index];
  made = {};
  made.index = index;
  made.facts.kind = kind;
  made.facts.started = events_[current_].ref;
  return &made;
}

void OpenEvents::release(OpenOperation* operation) {
  if (--operation->references > 0) return;
  operation->collective.reset();
  free_operations_.push_back(operation->index);
}

void OpenEvents::resolve(OpenOperation* operation, Match match) {
  const bool was_open = operation->facts.match == Match::kOpen;
  if (!was_open && operation->facts.match != Match::kGivenUp) return;
  operation->facts.match = match;
  operation->facts.collective = operation->collective.get();
  if (!was_open) return;
  keep(operation);
  const auto held = std::exchange(operation->held, {});
  const std::uint8_t count = std::exchange(operation->held_count, 0);
  for (std::uint8_t i = 0; i < count; ++i) {
    if (--events_[held[i]].open == 0) settle(held[i]);
  }
  release(operation);
}

void OpenEvents::settle(std::uint32_t slot) {
  Held& held = events_[slot];
  MatchedEvent event;
  event.event = held.ref;
  event.id = held.id;
  event.parts = held.parts;
  fillWaiting(event, rules_);
  count(held, event);
  sink_.settled(event);
  for (OpenOperation* operation : held.operations) release(operation);
  held.parts.clear();
  held.operations.clear();
  held.id = kNoId;
  --open_count_;
  free_events_.push_back(slot);
}

void OpenEvents::count(const Held& held, const MatchedEvent& event) {
  ++counts_.events;
  if (!event.matched()) ++counts_.unmatched;
  for (const EventPart& part : held.parts) {
    if (part.part != Part::kWhole && part.part != Part::kBegun) continue;
    const MpiOperation& operation = *part.operation;
    switch (operation.kind) {
      case OperationKind::kSend:
      case OperationKind::kSyncSend:
        counts_.sends.add(operation.match);
        break;
      case OperationKind::kReceive:
        counts_.receives.add(operation.match);
        break;
      case OperationKind::kProbe:
        counts_.probes.add(operation.match);
        break;
      case OperationKind::kCollective:
        counts_.collectives[calls::plainName(*held.ref.row)].add(operation.match);
        break;
      case OperationKind::kPost:
      case OperationKind::kStart:
      case OperationKind::kComplete:
      case OperationKind::kWait:
        counts_.epochs.add(operation.match);
        break;
      case OperationKind::kLocal:
        break;
    }
  }
}

std::vector<OpenOperation*> OpenEvents::oldest() {
  while (!ages_.empty() && events_[ages_.front().slot].id != ages_.front().id) ages_.pop_front();
  std::vector<OpenOperation*> open;
  if (ages_.empty()) return open;
  for (OpenOperation* operation : events_[ages_.front().slot].operations) {
    if (operation->facts.match == Match::kOpen) open.push_back(operation);
  }
  return open;
}

}  // namespace omnio::order
