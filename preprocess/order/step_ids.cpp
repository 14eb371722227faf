#include "preprocess/order/step_ids.hpp"

#include <algorithm>

namespace omnio::preprocess {

StepIds::StepIds(const Analysis& analysis, const CommunicationOrder& order)
    : threads_(analysis.threads().size()),
      of_meetings_(order.meetings().count(), 0),
      of_dependencies_(analysis.dependencies().ids(), 0) {
  const Dependencies& dependencies = analysis.dependencies();
  for (std::uint64_t id = 1; id <= dependencies.ids(); ++id) {
    if (const auto& event = dependencies.named(id)) add(*event);
  }
  for (const StepOrders& steps : order.steps()) {
    StepOrders::Reader reader(steps);
    while (const StepOrder* const step = reader.next()) add(step->after);
  }
  for (std::uint64_t i = 0; i < order.meetings().count(); ++i) add(order.meetings().at(i).after);

  std::uint64_t next = 0;
  for (std::uint32_t place = 0; place < threads_.size(); ++place) {
    Thread& thread = threads_[place];
    std::ranges::sort(thread.events);
    const auto same = std::ranges::unique(thread.events);
    thread.events.erase(same.begin(), same.end());
    thread.before = next;

    std::vector<Other> others;
    for (const std::uint64_t number : order.meetingsOf(place)) {
      others.push_back({order.meetings().behindOf(number), number, &of_meetings_[number]});
    }
    const auto& extras = analysis.threads()[place].extras;
    for (std::size_t i = 0; i < extras.size(); ++i) {
      if (extras[i].event.id == 0) continue;
      others.push_back(
          {extras[i].behind, of_meetings_.size() + i, &of_dependencies_[extras[i].event.id - 1]});
    }
    std::ranges::sort(others, {},
                      [](const Other& other) { return std::pair(other.behind, other.place); });
    std::size_t events = 0;  // up to the one that the other follows
    for (std::size_t i = 0; i < others.size(); ++i) {
      const auto isBefore = [&](std::uint64_t sequence) {
        return static_cast<std::int64_t>(sequence) <= others[i].behind;
      };
      while (events < thread.events.size() && isBefore(thread.events[events])) ++events;
      *others[i].id = next + events + i + 1;
      thread.others.push_back(others[i].behind);
    }
    next += thread.events.size() + others.size();
  }
  for (std::uint64_t id = 1; id <= dependencies.ids(); ++id) {
    if (const auto& event = dependencies.named(id)) of_dependencies_[id - 1] = ofEvent(*event);
  }
  // Those that no step has any more.
  for (std::uint64_t& id : of_dependencies_) {
    if (id == 0) id = ++next;
  }
}

void StepIds::add(const EventRef& event) {
  std::vector<std::uint64_t>& events = threads_[event.thread].events;
  if (events.empty() || events.back() != event.sequence) events.push_back(event.sequence);
}

void StepIds::add(const std::vector<Predecessor>& after) {
  for (const Predecessor& before : after) {
    if (before.step.thread < kMeeting) add(before.step);
  }
}

std::uint64_t StepIds::idAt(const Thread& thread, std::size_t event) const {
  // Others behind an event have higher ids than it.
  const auto others =
      std::ranges::lower_bound(thread.others, static_cast<std::int64_t>(thread.events[event]));
  return thread.before + event + static_cast<std::uint64_t>(others - thread.others.begin()) + 1;
}

std::uint64_t StepIds::ofEvent(const EventRef& event) const {
  const Thread& thread = threads_[event.thread];
  const auto found = std::ranges::lower_bound(thread.events, event.sequence);
  if (found == thread.events.end() || *found != event.sequence) return 0;
  return idAt(thread, static_cast<std::size_t>(found - thread.events.begin()));
}

std::uint64_t StepIds::Cursor::at(std::uint64_t sequence) {
  const Thread& thread = ids_.threads_[thread_];
  while (next_ < thread.events.size() && thread.events[next_] < sequence) ++next_;
  const bool is_it = next_ < thread.events.size() && thread.events[next_] == sequence;
  return is_it ? ids_.idAt(thread, next_) : 0;
}

}  // namespace omnio::preprocess
