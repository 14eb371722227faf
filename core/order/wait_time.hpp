// How long an event waited for late peers: the rules at the top of core/order/matched_event.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/order/matched_event.hpp"

namespace omnio::order {

// What the rules need to know of a trace.
struct WaitingRules {
  const mpi::MpiGroups* groups = nullptr;
  // Of each process which clock it goes by, and how far that is off the reference's at most: who
  // came so little after an event had ended may have come before.
  struct Clock {
    std::uint32_t number = 0;
    std::int64_t error_ns = 0;
  };
  std::vector<Clock> clocks;
  std::int64_t most_slack_ns = 0;  // twice the largest error

  std::int64_t slack(mpi::ProcessIndex a, mpi::ProcessIndex b) const {
    if (a >= clocks.size() || b >= clocks.size() || clocks[a].number == clocks[b].number) return 0;
    return clocks[a].error_ns + clocks[b].error_ns;
  }
};

// Puts waited_ns and late of an event whose operations are all settled.
void fillWaiting(MatchedEvent& event, const WaitingRules& rules);

// The number of a rank of that side among the members of its group (MpiCollective::Arrival).
std::uint32_t memberOf(const mpi::RankGroup& group, unsigned side, std::int32_t rank);

}  // namespace omnio::order
