#include "replay/plan/thread_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace omnio::replay {
namespace {

// Passes are looked at one by one where they are no more than this.
constexpr std::int64_t kMostLookedAt = 1 << 20;

}  // namespace

void ThreadOrder::sortIds() {
  for (std::size_t i = 0; i < named_.size(); ++i) {
    if (named_[i].id.isInLoop()) {
      loops_.push_back(i);
    } else {
      by_id_.emplace(static_cast<std::uint64_t>(named_[i].id.at(0)), i);
    }
  }
  std::ranges::sort(loops_, {}, [this](std::size_t i) { return named_[i].id.least(); });
  std::int64_t largest = INT64_MIN;
  for (const std::size_t i : loops_) {
    largest = std::max(largest, named_[i].id.most());
    largest_.push_back(largest);
  }
}

std::optional<ThreadOrder::Found> ThreadOrder::find(std::uint64_t id) const {
  const auto single = by_id_.find(id);
  if (single != by_id_.end()) return Found{.named = single->second};
  const auto number = static_cast<std::int64_t>(id);
  auto behind = static_cast<std::size_t>(
      std::ranges::upper_bound(loops_, number, {},
                               [this](std::size_t i) { return named_[i].id.least(); }) -
      loops_.begin());
  for (; behind > 0 && largest_[behind - 1] >= number; --behind) {
    const std::size_t named = loops_[behind - 1];
    if (const auto pass = named_[named].id.find(number)) {
      return Found{.named = named, .pass = *pass};
    }
  }
  return {};
}

std::uint32_t ThreadOrder::flagOf(std::size_t number, Plan& plan) {
  Named& named = named_[number];
  if (named.flag != kNoFlag) return named.flag;
  if (named.id.isInLoop()) {
    named.flag = kFirstLoopFlag + static_cast<std::uint32_t>(loop_waiters_.size());
    loop_waiters_.emplace_back();
  } else {
    named.flag = static_cast<std::uint32_t>(waiters_.size());
    waiters_.emplace_back();
  }
  plan.threads[named.thread].raises[named.ordinal] = named.flag;
  return named.flag;
}

// Waiting events come by rank.
void ThreadOrder::noteWaiter(std::uint32_t flag, std::uint32_t rank) {
  std::vector<std::uint32_t>& ranks =
      isLoopFlag(flag) ? loop_waiters_[flag - kFirstLoopFlag] : waiters_[flag];
  if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
}

ThreadOrder::Complaint ThreadOrder::resolve(const Waiting& waiting, const Awaited& awaited,
                                            Wait& wait, Plan& plan) {
  wait.in_mpi |= awaited.reason == model::Reason::kMpi;
  const std::int64_t passes = waiting.order.passes();
  const auto idAt = [&](std::int64_t pass) {
    return static_cast<std::uint64_t>(awaited.id.at(awaited.id.passes() == 1 ? 0 : pass));
  };
  if (idAt(0) == 0) {
    wait.least_ns = std::max(wait.least_ns, awaited.work.total());
    if (awaited.time >= 0) wait.least_time = awaited.time;
    return std::nullopt;
  }
  const auto missing = [](std::uint64_t id) {
    return fmt::format("\"after\" names id {}, which no event has", id);
  };
  const auto first = find(idAt(0));
  if (!first) return missing(idAt(0));
  const Named& before = named_[first->named];
  // Its own order sees to it.
  const bool is_of_order = before.thread == waiting.thread && awaited.work.total() == 0 &&
                           !before.id.isInLoop() && !waiting.order.isInLoop();
  if (is_of_order) {
    wait.recorded_end_ns = std::max(wait.recorded_end_ns, before.end_ns);
    return std::nullopt;
  }

  LoopWait loop{.time = awaited.time};
  std::vector<std::size_t> flagged{first->named};
  if (passes > 1) {
    const auto second = find(idAt(1));
    if (!second) return missing(idAt(1));
    loop.step = second->pass - first->pass;
    if (second->named != first->named || !goesOn(awaited, *first, loop.step, passes)) {
      if (passes > kMostLookedAt) {
        return fmt::format(
            "events of a loop with {} turns wait for id {} and others, which are not in as many "
            "turns of one loop",
            passes, idAt(0));
      }
      loop.step = 0;
      for (std::int64_t pass = 0; pass < passes; ++pass) {
        const auto found = find(idAt(pass));
        if (!found) return missing(idAt(pass));
        flagged.push_back(found->named);
        loop.each.push_back({.flag = flagOf(found->named, plan),
                             .pass = found->pass,
                             .recorded_end_ns = named_[found->named].end_ns});
      }
    }
  }
  // Those of loops are known when they have come.
  if (loop.each.empty()) wait.recorded_end_ns = std::max(wait.recorded_end_ns, before.end_ns);
  const auto rank = static_cast<std::uint32_t>(plan.threads[waiting.thread].recorded.rank);
  for (const std::size_t named : flagged) noteWaiter(flagOf(named, plan), rank);
  wait.flags.push_back(flagOf(first->named, plan));
  wait.work.push_back(awaited.work);
  wait.passes.push_back(first->pass);
  wait.loop.push_back(std::move(loop));
  return std::nullopt;
}

// Whether each pass waits for the pass of the same line that is `step` later than the one before.
bool ThreadOrder::goesOn(const Awaited& awaited, const Found& first, std::int64_t step,
                         std::int64_t passes) const {
  const Number& before = named_[first.named].id;
  __extension__ using Wide = __int128;
  const auto expectedAt = [&](std::int64_t pass) {
    return first.pass + static_cast<Wide>(step) * pass;
  };
  const auto isThere = [&before](Wide pass) { return pass >= 0 && pass < before.passes(); };
  const auto by = awaited.id.step();
  const auto of_before = before.step();
  // Both ids grow by as much with each pass.
  if (by && of_before) {
    return static_cast<Wide>(*of_before) * step == *by && isThere(expectedAt(passes - 1));
  }
  if (passes > kMostLookedAt) return false;
  for (std::int64_t pass = 2; pass < passes; ++pass) {
    const Wide expected = expectedAt(pass);
    if (!isThere(expected) ||
        before.at(static_cast<std::int64_t>(expected)) != awaited.id.at(pass)) {
      return false;
    }
  }
  return true;
}

ThreadOrder::Complaint ThreadOrder::resolve(const Waiting& waiting, Plan& plan) {
  Wait& wait = plan.threads[waiting.thread].waits[waiting.wait];
  for (const Awaited& awaited : waiting.awaited) {
    if (auto complaint = resolve(waiting, awaited, wait, plan)) return complaint;
  }
  // Most are of single events.
  if (std::ranges::all_of(wait.passes, [](std::int64_t pass) { return pass == 0; })) {
    wait.passes = {};
  }
  if (!waiting.order.isInLoop()) wait.loop = {};
  return std::nullopt;
}

ThreadOrder::Complaint ThreadOrder::checkCircles(const Plan& plan) const {
  constexpr std::int64_t kMostPlaces = 1 << 22;  // of loops
  std::int64_t in_loops = 0;
  for (const Named& named : named_) in_loops += named.id.isInLoop() ? named.order.passes() : 0;
  for (const Waiting& one : waiting_) {
    if (!one.order.isInLoop()) continue;
    const auto edges = static_cast<std::int64_t>(one.awaited.size() + 1);
    in_loops += std::min(one.order.passes(), kMostPlaces) * edges;
  }
  if (in_loops > kMostPlaces) return std::nullopt;
  // Nodes of the graph: events that wait or are named, by thread and order, each once.
  struct Place {
    std::uint32_t thread;
    std::int64_t order;
    bool operator==(const Place&) const = default;
    auto operator<=>(const Place&) const = default;
  };
  std::vector<Place> places;
  const auto addAll = [&places](std::uint32_t thread, const Number& order) {
    for (std::int64_t pass = 0; pass < order.passes(); ++pass) {
      places.push_back({thread, order.at(pass)});
    }
  };
  for (const Named& named : named_) addAll(named.thread, named.order);
  for (const Waiting& one : waiting_) addAll(one.thread, one.order);
  std::ranges::sort(places);
  places.erase(std::ranges::unique(places).begin(), places.end());
  const auto nodeOf = [&places](std::uint32_t thread, std::int64_t order) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(places, Place{thread, order}) -
                                      places.begin());
  };
  std::vector<OrderEdge> edges;
  for (std::uint32_t i = 1; i < places.size(); ++i) {
    if (places[i].thread == places[i - 1].thread) edges.push_back({.before = i - 1, .after = i});
  }
  for (const Waiting& one : waiting_) {
    for (std::int64_t pass = 0; pass < one.order.passes(); ++pass) {
      const std::uint32_t after = nodeOf(one.thread, one.order.at(pass));
      for (const Awaited& awaited : one.awaited) {
        const std::int64_t id = awaited.id.at(awaited.id.passes() == 1 ? 0 : pass);
        const auto found = id == 0 ? std::nullopt : find(static_cast<std::uint64_t>(id));
        if (!found) continue;
        const Named& before = named_[found->named];
        edges.push_back(
            {.before = nodeOf(before.thread, before.order.at(found->pass)), .after = after});
      }
    }
  }
  const auto node = findCycle(static_cast<std::uint32_t>(places.size()), edges);
  if (!node) return std::nullopt;
  const Place& at = places[*node];
  const auto& thread = plan.threads[at.thread].recorded;
  for (const Named& named : named_) {
    if (named.thread != at.thread) continue;
    const auto pass = named.order.find(at.order);
    if (!pass) continue;
    return fmt::format(
        "events wait for each other in a circle: id {} (rank {}, thread {}, "
        "event {}) has to come before itself",
        named.id.at(*pass), thread.rank, thread.thread, at.order);
  }
  return fmt::format(
      "events wait for each other in a circle: event {} of rank {}, thread {} has "
      "to come before itself",
      at.order, thread.rank, thread.thread);
}

ThreadOrder::Complaint ThreadOrder::resolve(Plan& plan) {
  sortIds();
  for (const Waiting& waiting : waiting_) {
    if (auto complaint = resolve(waiting, plan)) return complaint;
  }
  plan.flag_waiters = FlagWaiters(waiters_, loop_waiters_);
  return checkCircles(plan);
}

std::optional<std::uint32_t> findCycle(std::uint32_t nodes, const std::vector<OrderEdge>& edges) {
  // Edges by the node they leave: places in one array, since lists of their own would take several
  // times the memory.
  std::vector<std::uint32_t> first(nodes + std::size_t{1}, 0);
  std::vector<std::uint32_t> waits(nodes, 0);
  for (const OrderEdge& edge : edges) {
    ++first[edge.before + std::size_t{1}];
    ++waits[edge.after];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::uint32_t> leads_to(edges.size());
  std::vector<std::uint32_t> next(first.begin(), first.end());
  for (const OrderEdge& edge : edges) leads_to[next[edge.before]++] = edge.after;

  std::vector<std::uint32_t> ready;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    if (waits[node] == 0) ready.push_back(node);
  }
  std::uint32_t done = 0;
  while (!ready.empty()) {
    const std::uint32_t node = ready.back();
    ready.pop_back();
    ++done;
    for (std::uint32_t i = first[node]; i < first[node + std::size_t{1}]; ++i) {
      if (--waits[leads_to[i]] == 0) ready.push_back(leads_to[i]);
    }
  }
  if (done == nodes) return std::nullopt;

  // Every node that is left is on a cycle or behind one: going back along their edges ends on the
  // cycle after at most as many steps as there are nodes.
  std::vector<std::uint32_t> from(nodes, nodes);
  for (const OrderEdge& edge : edges) {
    if (waits[edge.before] > 0 && waits[edge.after] > 0) from[edge.after] = edge.before;
  }
  std::uint32_t node = 0;
  while (waits[node] == 0) ++node;
  for (std::uint32_t i = 0; i < nodes; ++i) node = from[node];
  return node;
}

}  // namespace omnio::replay
