#include "preprocess/order/circles.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <deque>
#include <span>
#include <vector>

namespace omnio::preprocess {
namespace {

// A step that waits, or that is waited for. `after`: the event of its thread that it is or follows;
// `place`: 0 for the event itself, and behind it the meetings and other steps that are no calls.
struct StepKey {
  std::uint32_t thread = 0;
  std::int64_t after = -1;
  std::uint64_t place = 0;
  auto operator<=>(const StepKey&) const = default;
};

using StepIndex = std::uint32_t;

// `step` waits for `before`.
struct StepEdge {
  StepIndex step = 0;
  StepIndex before = 0;
  std::uint64_t id = 0;  // of a file's wait; 0: of communication, or of the thread itself
};

// The edges of all steps one behind the other, and where those of each begin.
class StepGraph {
 public:
  // Orders the edges by `member`, which is one of the two steps.
  StepGraph(const std::vector<StepEdge>& edges, StepIndex StepEdge::*member, std::size_t steps)
      : begins_(steps + 1), edges_(edges.size()) {
    for (const StepEdge& edge : edges) ++begins_[edge.*member + 1];
    for (std::size_t i = 0; i < steps; ++i) begins_[i + 1] += begins_[i];
    std::vector<std::uint64_t> next(begins_.begin(), begins_.end() - 1);
    for (std::uint64_t i = 0; i < edges.size(); ++i) edges_[next[edges[i].*member]++] = i;
  }
  // Their places among the edges.
  std::span<const std::uint64_t> of(StepIndex step) const {
    return std::span(edges_).subspan(begins_[step], begins_[step + 1] - begins_[step]);
  }

 private:
  std::vector<std::uint64_t> begins_;
  std::vector<std::uint64_t> edges_;
};

class CircleBreaker {
 public:
  CircleBreaker(Analysis& analysis, const CommunicationOrder& order)
      : analysis_(analysis), order_(order) {
    collectSteps();
    collectEdges();
  }

  std::uint64_t run() {
    const StepGraph waits(edges_, &StepEdge::step, steps_.size());
    const StepGraph leads_to(edges_, &StepEdge::before, steps_.size());
    std::deque<StepIndex> ready;
    for (StepIndex step = 0; step < steps_.size(); ++step) {
      unmet_[step] = static_cast<StepIndex>(waits.of(step).size());
      if (unmet_[step] == 0) ready.push_back(step);
    }
    std::uint64_t dropped = 0;
    std::size_t done = 0;
    while (true) {
      for (; !ready.empty(); ready.pop_front(), ++done) {
        const StepIndex step = ready.front();
        is_done_[step] = true;
        first_[steps_[step].thread] = step + 1;
        for (const std::uint64_t edge : leads_to.of(step)) {
          const StepIndex next = edges_[edge].step;
          if (!is_dropped_[next] && --unmet_[next] == 0) ready.push_back(next);
        }
      }
      if (done == steps_.size()) return dropped;
      const StepIndex step = cheapest(waits);
      if (step == steps_.size()) return dropped;  // a circle of communication alone
      dropped += drop(step, waits);
      ready.push_back(step);
    }
  }

 private:
  static constexpr std::uint64_t kExtra = std::uint64_t{1} << 32;

  static StepKey keyOf(const EventRef& event) {
    return {event.thread, static_cast<std::int64_t>(event.sequence), 0};
  }
  StepKey keyOfMeeting(std::uint64_t number) const {
    return {order_.meetings().threadOf(number), order_.meetings().behindOf(number), 1 + number};
  }
  StepKey keyOf(const Predecessor& before) const {
    return before.step.thread == kMeeting ? keyOfMeeting(before.step.sequence) : keyOf(before.step);
  }
  StepIndex indexOf(const StepKey& key) const {
    return static_cast<StepIndex>(std::lower_bound(steps_.begin(), steps_.end(), key) -
                                  steps_.begin());
  }

  template <typename Action>
  void forEachExtra(Action action) {
    std::vector<ThreadNotes>& threads = analysis_.threads();
    for (std::uint32_t thread = 0; thread < threads.size(); ++thread) {
      std::vector<ExtraStep>& extras = threads[thread].extras;
      for (std::size_t i = 0; i < extras.size(); ++i) {
        if (!isInGraph(extras[i])) continue;
        action(StepKey{thread, extras[i].behind, kExtra + i}, extras[i].event);
      }
    }
  }

  // The step that waits for what communication puts before the event: the event, or a step in front
  // of it (takesOrder). One in between that nothing waits for is not in the graph, and need not be.
  StepKey keyOfOrder(const EventRef& event) const {
    const std::int64_t behind = static_cast<std::int64_t>(event.sequence) - 1;
    const std::vector<ExtraStep>& extras = analysis_.threads()[event.thread].extras;
    auto at = std::partition_point(extras.begin(), extras.end(), [behind](const ExtraStep& extra) {
      return extra.behind < behind;
    });
    const auto isInFront = [&] { return at != extras.end() && at->behind == behind; };
    while (isInFront() && !takesOrder(*at)) ++at;
    while (isInFront() && !isInGraph(*at)) ++at;
    if (!isInFront()) return keyOf(event);
    return {event.thread, behind, kExtra + static_cast<std::uint64_t>(at - extras.begin())};
  }
  static bool isInGraph(const ExtraStep& extra) {
    return extra.event.id != 0 || !extra.event.after.empty();
  }

  // Calls `action` with each step that communication orders, and what it waits for.
  template <typename Action>
  void forEachOrdered(Action action) const {
    for (std::uint32_t thread = 0; thread < order_.steps().size(); ++thread) {
      StepOrders::Reader reader(order_.steps()[thread]);
      while (const StepOrder* const step = reader.next()) {
        action(keyOfOrder(EventRef{thread, step->sequence}), step->after);
      }
    }
    for (std::uint64_t i = 0; i < order_.meetings().count(); ++i) {
      action(keyOfMeeting(i), order_.meetings().at(i).after);
    }
  }

  void collectSteps() {
    Dependencies& dependencies = analysis_.dependencies();
    for (std::uint64_t id = 1; id <= dependencies.ids(); ++id) {
      if (const auto& event = dependencies.named(id)) steps_.push_back(keyOf(*event));
    }
    dependencies.forEachWaiting([&](const EventRef& event, const std::vector<model::Wait>&) {
      steps_.push_back(keyOf(event));
    });
    forEachOrdered([&](const StepKey& key, const std::vector<Predecessor>& after) {
      steps_.push_back(key);
      for (const Predecessor& before : after) {
        if (before.step.thread < kMeeting) steps_.push_back(keyOf(before));
      }
      removeTwins();
    });
    forEachExtra([&](const StepKey& key, const model::ScheduleEvent&) { steps_.push_back(key); });
    twins_at_ = 0;
    removeTwins();
    unmet_.resize(steps_.size());
    is_done_.resize(steps_.size());
    is_dropped_.resize(steps_.size());
    first_.resize(analysis_.threads().size());
  }

  // Many steps wait for the same one. Not each time, or it would take long.
  void removeTwins() {
    if (steps_.size() < twins_at_) return;
    std::sort(steps_.begin(), steps_.end());
    steps_.erase(std::unique(steps_.begin(), steps_.end()), steps_.end());
    twins_at_ = std::max<std::size_t>(2 * steps_.size(), 4096);
  }

  void collectEdges() {
    for (StepIndex i = 0; i < steps_.size(); ++i) {
      const bool is_first = i == 0 || steps_[i - 1].thread != steps_[i].thread;
      if (is_first) first_[steps_[i].thread] = i;
      if (!is_first) edges_.push_back({i, i - 1, 0});
    }
    Dependencies& dependencies = analysis_.dependencies();
    const auto none = static_cast<StepIndex>(steps_.size());
    std::vector<StepIndex> by_id(dependencies.ids() + 1, none);
    for (std::uint64_t id = 1; id <= dependencies.ids(); ++id) {
      if (const auto& event = dependencies.named(id)) by_id[id] = indexOf(keyOf(*event));
    }
    forEachExtra([&](const StepKey& key, const model::ScheduleEvent& event) {
      if (event.id != 0) by_id[event.id] = indexOf(key);
    });
    const auto addWaits = [&](StepIndex step, const std::vector<model::Wait>& waits) {
      for (const model::Wait& wait : waits) {
        if (by_id[wait.id] != none) edges_.push_back({step, by_id[wait.id], wait.id});
      }
    };
    dependencies.forEachWaiting([&](const EventRef& event, const std::vector<model::Wait>& waits) {
      addWaits(indexOf(keyOf(event)), waits);
    });
    forEachExtra([&](const StepKey& key, const model::ScheduleEvent& event) {
      addWaits(indexOf(key), event.after);
    });
    forEachOrdered([&](const StepKey& key, const std::vector<Predecessor>& after) {
      const StepIndex step = indexOf(key);
      for (const Predecessor& before : after) {
        if (before.step.thread != kBeginning) edges_.push_back({step, indexOf(keyOf(before)), 0});
      }
    });
  }

  // The next step of a thread that waits for files alone, and for the fewest; the number of steps
  // when there is none.
  StepIndex cheapest(const StepGraph& waits) const {
    const auto none = static_cast<StepIndex>(steps_.size());
    StepIndex best = none;
    for (std::uint32_t thread = 0; thread < first_.size(); ++thread) {
      const StepIndex step = first_[thread];
      if (step >= steps_.size() || steps_[step].thread != thread || is_done_[step]) continue;
      const auto edges = waits.of(step);
      const bool waits_for_files = std::ranges::all_of(edges, [&](std::uint64_t edge) {
        return edges_[edge].id != 0 || is_done_[edges_[edge].before];
      });
      if (!waits_for_files) continue;
      if (best == none || unmet_[step] < unmet_[best]) best = step;
    }
    return best;
  }

  std::uint64_t drop(StepIndex step, const StepGraph& graph) {
    std::uint64_t dropped = 0;
    const StepKey& key = steps_[step];
    const auto dropFrom = [&](std::vector<model::Wait>& waits) {
      dropped += std::erase_if(waits, [&](const model::Wait& wait) {
        return std::ranges::any_of(graph.of(step), [&](std::uint64_t edge) {
          return edges_[edge].id == wait.id && !is_done_[edges_[edge].before];
        });
      });
    };
    if (key.place >= kExtra) {
      dropFrom(analysis_.threads()[key.thread].extras[key.place - kExtra].event.after);
    } else if (key.place == 0) {
      const EventRef event{key.thread, static_cast<std::uint64_t>(key.after)};
      std::vector<model::Wait> waits = analysis_.dependencies().takeBefore(event);
      dropFrom(waits);
      for (const model::Wait& wait : waits) {
        analysis_.dependencies().requireId(event, wait.id, wait.reason);
      }
    }
    is_dropped_[step] = true;
    return dropped;
  }

  Analysis& analysis_;
  const CommunicationOrder& order_;
  std::vector<StepKey> steps_;  // in the order of each thread
  std::size_t twins_at_ = 0;    // how many there are when it looks for twins next
  std::vector<StepEdge> edges_;
  std::vector<StepIndex> unmet_;
  std::vector<bool> is_done_;
  std::vector<bool> is_dropped_;  // it waits for nothing any more
  std::vector<StepIndex> first_;  // by thread: its first step that is not done
};

}  // namespace

namespace {

bool waitsForFiles(const Analysis& analysis) {
  if (analysis.dependencies().hasWaiting()) return true;
  return std::ranges::any_of(analysis.threads(), [](const ThreadNotes& thread) {
    return std::ranges::any_of(thread.extras,
                               [](const ExtraStep& extra) { return !extra.event.after.empty(); });
  });
}

}  // namespace

std::uint64_t breakCircles(Analysis& analysis, const CommunicationOrder& order) {
  if (!waitsForFiles(analysis)) return 0;
  return CircleBreaker(analysis, order).run();
}

}  // namespace omnio::preprocess
