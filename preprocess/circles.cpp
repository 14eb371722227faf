#include "preprocess/circles.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <deque>

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

struct StepEdge {
  std::size_t before = 0;  // index of a step
  std::uint64_t id = 0;    // of a file's wait; 0: of communication, or of the thread itself
};

class CircleBreaker {
 public:
  CircleBreaker(Analysis& analysis, const CommunicationOrder& order)
      : analysis_(analysis), order_(order) {
    collectSteps();
    collectEdges();
  }

  std::uint64_t run() {
    std::deque<std::size_t> ready;
    std::vector<std::vector<std::size_t>> leads_to(steps_.size());
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      for (const StepEdge& edge : edges_[step]) leads_to[edge.before].push_back(step);
      unmet_[step] = edges_[step].size();
      if (unmet_[step] == 0) ready.push_back(step);
    }
    std::uint64_t dropped = 0;
    std::size_t done = 0;
    while (true) {
      for (; !ready.empty(); ready.pop_front(), ++done) {
        const std::size_t step = ready.front();
        is_done_[step] = true;
        first_[steps_[step].thread] = step + 1;
        for (const std::size_t next : leads_to[step]) {
          if (!is_dropped_[next] && --unmet_[next] == 0) ready.push_back(next);
        }
      }
      if (done == steps_.size()) return dropped;
      const std::size_t step = cheapest();
      if (step == steps_.size()) return dropped;  // a circle of communication alone
      dropped += drop(step);
      ready.push_back(step);
    }
  }

 private:
  static constexpr std::uint64_t kExtra = std::uint64_t{1} << 32;

  static StepKey keyOf(const EventRef& event) {
    return {event.thread, static_cast<std::int64_t>(event.sequence), 0};
  }
  StepKey keyOfMeeting(std::uint64_t number) const {
    const Meeting& meeting = order_.meetings()[number];
    return {meeting.thread, meeting.behind, 1 + number};
  }
  std::size_t indexOf(const StepKey& key) const {
    return static_cast<std::size_t>(std::lower_bound(steps_.begin(), steps_.end(), key) -
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
  StepKey keyOfOrder(const EventRef& event) {
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

  void collectSteps() {
    Dependencies& dependencies = analysis_.dependencies();
    for (std::uint64_t id = 1; id <= dependencies.ids(); ++id) {
      if (const auto& event = dependencies.named(id)) steps_.push_back(keyOf(*event));
    }
    dependencies.forEachWaiting([&](const EventRef& event, const std::vector<model::Wait>&) {
      steps_.push_back(keyOf(event));
    });
    for (std::uint32_t thread = 0; thread < order_.steps().size(); ++thread) {
      for (const StepOrder& step : order_.steps()[thread]) {
        steps_.push_back(keyOf(EventRef{thread, step.sequence}));
      }
    }
    for (std::uint64_t i = 0; i < order_.meetings().size(); ++i) steps_.push_back(keyOfMeeting(i));
    forEachExtra([&](const StepKey& key, const model::ScheduleEvent&) { steps_.push_back(key); });
    std::sort(steps_.begin(), steps_.end());
    steps_.erase(std::unique(steps_.begin(), steps_.end()), steps_.end());
    edges_.resize(steps_.size());
    unmet_.resize(steps_.size());
    is_done_.resize(steps_.size());
    is_dropped_.resize(steps_.size());
    first_.resize(analysis_.threads().size());
  }

  void collectEdges() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const bool is_first = i == 0 || steps_[i - 1].thread != steps_[i].thread;
      if (is_first) first_[steps_[i].thread] = i;
      if (!is_first) edges_[i].push_back({i - 1, 0});
    }
    Dependencies& dependencies = analysis_.dependencies();
    std::vector<std::size_t> by_id(dependencies.ids() + 1, steps_.size());
    for (std::uint64_t id = 1; id <= dependencies.ids(); ++id) {
      if (const auto& event = dependencies.named(id)) by_id[id] = indexOf(keyOf(*event));
    }
    forEachExtra([&](const StepKey& key, const model::ScheduleEvent& event) {
      if (event.id != 0) by_id[event.id] = indexOf(key);
    });
    const auto addWaits = [&](std::size_t step, const std::vector<model::Wait>& waits) {
      for (const model::Wait& wait : waits) {
        if (by_id[wait.id] != steps_.size()) edges_[step].push_back({by_id[wait.id], wait.id});
      }
    };
    dependencies.forEachWaiting([&](const EventRef& event, const std::vector<model::Wait>& waits) {
      addWaits(indexOf(keyOf(event)), waits);
    });
    forEachExtra([&](const StepKey& key, const model::ScheduleEvent& event) {
      addWaits(indexOf(key), event.after);
    });
    for (std::uint32_t thread = 0; thread < order_.steps().size(); ++thread) {
      for (const StepOrder& step : order_.steps()[thread]) {
        addOrder(keyOfOrder(EventRef{thread, step.sequence}), step.after);
      }
    }
    for (std::uint64_t i = 0; i < order_.meetings().size(); ++i) {
      addOrder(keyOfMeeting(i), order_.meetings()[i].after);
    }
  }

  void addOrder(const StepKey& step, const std::vector<Predecessor>& after) {
    for (const Predecessor& before : after) {
      if (before.step.thread == kBeginning) continue;
      const StepKey key =
          before.step.thread == kMeeting ? keyOfMeeting(before.step.sequence) : keyOf(before.step);
      edges_[indexOf(step)].push_back({indexOf(key), 0});
    }
  }

  // The next step of a thread that waits for files alone, and for the fewest; the number of steps
  // when there is none.
  std::size_t cheapest() const {
    std::size_t best = steps_.size();
    for (std::uint32_t thread = 0; thread < first_.size(); ++thread) {
      const std::size_t step = first_[thread];
      if (step >= steps_.size() || steps_[step].thread != thread || is_done_[step]) continue;
      const bool waits_for_files =
          std::all_of(edges_[step].begin(), edges_[step].end(),
                      [&](const StepEdge& edge) { return edge.id != 0 || is_done_[edge.before]; });
      if (!waits_for_files) continue;
      if (best == steps_.size() || unmet_[step] < unmet_[best]) best = step;
    }
    return best;
  }

  std::uint64_t drop(std::size_t step) {
    std::uint64_t dropped = 0;
    const StepKey& key = steps_[step];
    const auto dropFrom = [&](std::vector<model::Wait>& waits) {
      dropped += std::erase_if(waits, [&](const model::Wait& wait) {
        return std::any_of(edges_[step].begin(), edges_[step].end(), [&](const StepEdge& edge) {
          return edge.id == wait.id && !is_done_[edge.before];
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
  std::vector<std::vector<StepEdge>> edges_;
  std::vector<std::size_t> unmet_;
  std::vector<bool> is_done_;
  std::vector<bool> is_dropped_;    // it waits for nothing any more
  std::vector<std::size_t> first_;  // by thread: its first step that is not done
};

}  // namespace

std::uint64_t breakCircles(Analysis& analysis, const CommunicationOrder& order) {
  return CircleBreaker(analysis, order).run();
}

}  // namespace omnio::preprocess
