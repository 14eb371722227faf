// The order of threads: ids of events, and the events that name them, become flags and waits of the
// plan. A line of a loop has one flag, and one wait, for all its passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/model/schedule.hpp"
#include "replay/plan/pass_numbers.hpp"
#include "replay/plan/plan.hpp"

namespace omnio::replay {

class ThreadOrder {
 public:
  using Complaint = std::optional<std::string>;

  // A number of a single event, or of the passes of a line. There are millions of single events.
  class Number {
   public:
    explicit Number(std::int64_t number) : first_(number) {}
    explicit Number(PassNumbers passes)
        : first_(passes.at(0)), passes_(std::make_unique<PassNumbers>(std::move(passes))) {}

    bool isInLoop() const { return passes_ != nullptr; }
    std::int64_t passes() const { return passes_ ? passes_->passes() : 1; }
    std::int64_t at(std::int64_t pass) const { return passes_ ? passes_->at(pass) : first_; }
    std::optional<std::int64_t> step() const { return passes_ ? passes_->step() : 0; }
    std::optional<std::int64_t> find(std::int64_t number) const {
      if (passes_) return passes_->find(number);
      return number == first_ ? std::optional<std::int64_t>(0) : std::nullopt;
    }
    std::int64_t least() const { return passes_ ? passes_->least() : first_; }
    std::int64_t most() const { return passes_ ? passes_->most() : first_; }

   private:
    std::int64_t first_;
    std::unique_ptr<PassNumbers> passes_;
  };

  struct Named {
    Number id;
    Number order;  // among the thread's events
    std::uint32_t thread = 0;
    std::uint32_t ordinal = 0;  // in the thread's `raises`
    std::int64_t end_ns = 0;    // of a single event
    std::uint32_t flag = kNoFlag;
  };

  struct Awaited {
    Number id;
    model::Reason reason = model::Reason::kFile;
    model::Work work{};      // with the replay's time of communication
    std::int32_t time = -1;  // as LoopWait::time
  };

  struct Waiting {
    Number order;
    std::uint32_t thread = 0;
    std::size_t wait = 0;  // in the thread's `waits`
    std::vector<Awaited> awaited;
  };

  void add(Named named) { named_.push_back(std::move(named)); }
  void add(Waiting waiting) { waiting_.push_back(std::move(waiting)); }

  // After all events. Complains about ids that no event has, and about events that wait for each
  // other in a circle. Circles that need very many turns of loops to be seen are not looked for.
  Complaint resolve(Plan& plan);

 private:
  struct Found {
    std::size_t named = 0;
    std::int64_t pass = 0;
  };
  void sortIds();
  std::optional<Found> find(std::uint64_t id) const;
  std::uint32_t flagOf(std::size_t named, Plan& plan);
  void noteWaiter(std::uint32_t flag, std::uint32_t rank);
  Complaint resolve(const Waiting& waiting, Plan& plan);
  Complaint resolve(const Waiting& waiting, const Awaited& awaited, Wait& wait, Plan& plan);
  bool goesOn(const Awaited& awaited, const Found& first, std::int64_t step,
              std::int64_t passes) const;
  Complaint checkCircles(const Plan& plan) const;

  std::vector<Named> named_;
  std::vector<Waiting> waiting_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_;  // of single events
  // Those of loops, by their least id; and the largest id of them up to there.
  std::vector<std::size_t> loops_;
  std::vector<std::int64_t> largest_;
  // By flag, the ranks that wait.
  std::vector<std::vector<std::uint32_t>> waiters_;
  std::vector<std::vector<std::uint32_t>> loop_waiters_;
};

// Whether events can be put in an order in which each comes after all that it waits for. Only
// events that wait, or are waited for, matter: between them a thread's own order is one edge.
struct OrderEdge {
  std::uint32_t before = 0;
  std::uint32_t after = 0;
};

// Nodes are 0 ... nodes-1. Returns one node of a cycle, or nothing when there is none (Kahn,
// "Topological sorting of large networks", Communications of the ACM 5 (1962) 558).
std::optional<std::uint32_t> findCycle(std::uint32_t nodes, const std::vector<OrderEdge>& edges);

}  // namespace omnio::replay
