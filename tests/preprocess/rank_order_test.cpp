// The waits that are left are those that no other one implies, in random schedules.
#include "preprocess/scale/ranks/rank_order.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace omnio::preprocess::scale {
namespace {

using Place = std::pair<std::size_t, std::int64_t>;  // rank and event

struct Node {
  std::size_t rank = 0;
  std::int64_t event = 0;  // that it is, or that it lies behind
  bool is_delay = false;
  std::vector<std::size_t> waits;  // for nodes
  std::set<Place> known;           // events that come before, and itself
};

// Nodes in an order in which they could run; one thread a rank.
struct Job {
  std::vector<Node> nodes;
  std::vector<std::vector<std::size_t>> of_rank;
  std::set<Place> none;

  explicit Job(std::size_t ranks) : of_rank(ranks) {}

  void add(std::size_t rank, bool is_delay, std::vector<std::size_t> waits) {
    Node node{
        .rank = rank, .event = 0, .is_delay = is_delay, .waits = std::move(waits), .known = {}};
    if (!of_rank[rank].empty()) {
      const Node& before = nodes[of_rank[rank].back()];
      node.event = before.event + (is_delay ? 0 : 1);
      node.known = before.known;
    }
    for (const std::size_t wait : node.waits) node.known.merge(std::set(nodes[wait].known));
    node.known.insert({rank, node.event});
    of_rank[rank].push_back(nodes.size());
    nodes.push_back(std::move(node));
  }

  void meet() {
    std::vector<std::size_t> all;
    for (const auto& of_one : of_rank) {
      if (!of_one.empty()) all.push_back(of_one.back());
    }
    if (of_rank[0].empty()) return;
    add(0, true, all);
    const std::size_t meeting = nodes.size() - 1;
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) add(rank, false, {meeting});
  }

  std::string text() const {
    std::string text = fmt::format(
        R"({{"format":"omnio-schedule","version":1,"global":{{"time_replay":"dt","ranks":{}}},)"
        R"("files":[{{"location":"d","role":"output","exists":false}}],"ranks":[)",
        of_rank.size());
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
      text += fmt::format(
          R"({}{{"rank":{},"threads":[{{"thread":0,"pid":{},"tid":{},"recorder":0,"host":"h",)"
          R"("events":[)",
          rank == 0 ? "" : ",", rank, rank + 1, rank + 1);
      bool is_first = true;
      for (const std::size_t n : of_rank[rank]) {
        const Node& node = nodes[n];
        text += fmt::format(
            "{}\n{}", std::exchange(is_first, false) ? "" : ",",
            node.is_delay ? R"({"start":0,"end":0,"command":"delay")"
                          : R"({"start":0,"end":0,"command":"rmdir","location":"d","result":0)");
        text += fmt::format(R"(,"id":{})", n + 1);
        for (std::size_t w = 0; w < node.waits.size(); ++w) {
          text += fmt::format(R"({}{{"id":{},"why":"mpi"}})", w == 0 ? R"(,"after":[)" : ",",
                              node.waits[w] + 1);
        }
        text += node.waits.empty() ? "}" : "]}";
      }
      text += "]}]}";
    }
    return text + "]}\n";
  }

  // Events that a node waits for, but for those that others of these, or the event before, imply.
  std::set<Place> neededBy(const Node& node) const {
    const std::set<Place>* before = &none;
    for (const std::size_t n : of_rank[node.rank]) {
      if (!nodes[n].is_delay && nodes[n].event == node.event - 1) before = &nodes[n].known;
    }
    std::set<Place> needed;
    for (const Place& place : node.known) {
      if (place.first == node.rank || before->contains(place)) continue;
      const bool is_implied = std::ranges::any_of(node.known, [&](const Place& other) {
        return other != place && other.first != node.rank && !before->contains(other) &&
               knownBy(other).contains(place);
      });
      if (!is_implied) needed.insert(place);
    }
    return needed;
  }

  const std::set<Place>& knownBy(const Place& place) const {
    for (const std::size_t n : of_rank[place.first]) {
      if (!nodes[n].is_delay && nodes[n].event == place.second) return nodes[n].known;
    }
    return none;
  }
};

Job jobOf(std::size_t ranks, std::size_t nodes, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&random](std::size_t end) { return random() % end; };
  constexpr std::size_t kOneMeetingIn = 12;
  constexpr std::size_t kMostWaits = 4;
  constexpr std::size_t kRecent = 24;
  Job job(ranks);
  while (job.nodes.size() < nodes) {
    if (below(kOneMeetingIn) == 0) {
      job.meet();
      continue;
    }
    const std::size_t rank = below(ranks);
    std::set<std::size_t> waits;
    const std::size_t count = job.nodes.empty() ? 0 : below(kMostWaits);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t wait = job.nodes.size() - 1 - below(std::min(kRecent, job.nodes.size()));
      if (job.nodes[wait].rank != rank) waits.insert(wait);
    }
    const bool is_delay = !job.of_rank[rank].empty() && below(4) == 0;
    job.add(rank, is_delay, {waits.begin(), waits.end()});
  }
  return job;
}

TEST(RankOrder, KeepsTheWaitsThatNoOtherImplies) {
  const std::filesystem::path directory = std::filesystem::temp_directory_path();
  const std::filesystem::path path = directory / fmt::format("rank_order.{}.json", getpid());
  std::size_t compared = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Job job = jobOf(2 + seed % 7, 150, seed);
    std::ofstream(path) << job.text();
    EventKinds kinds;
    RecordedSchedule schedule(directory, kinds);
    const auto read = model::readSchedule(path, schedule);
    ASSERT_TRUE(read.ok()) << read.failure().sentence;
    ASSERT_TRUE(schedule.spool().state().ok());
    const RankOrder order(schedule, true);
    EXPECT_FALSE(order.isCircular());
    for (const Node& node : job.nodes) {
      if (node.is_delay) continue;
      std::set<Place> got;
      const auto rank = static_cast<std::uint32_t>(node.rank);
      const RankOrder::Waits* const waits = order.of(rank, static_cast<std::uint64_t>(node.event));
      for (std::size_t i = 0; waits != nullptr && i < waits->runs.size(); ++i) {
        const RankRun& run = waits->runs[i];
        for (std::int64_t r = run.first; r <= run.last; ++r) {
          if (r != static_cast<std::int64_t>(rank)) got.insert({r, run.event});
        }
      }
      compared += got.size();
      EXPECT_EQ(got, job.neededBy(node))
          << "seed " << seed << ", event " << node.event << " of rank " << node.rank;
    }
  }
  std::filesystem::remove(path);
  EXPECT_GT(compared, 1000U);
}

}  // namespace
}  // namespace omnio::preprocess::scale
