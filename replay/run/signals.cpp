#include "replay/run/signals.hpp"

#include <sched.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "replay/run/receivers.hpp"

namespace omnio::replay {

Signals::Signals(const Plan& plan, const Placement& placement, Session& session, Flags& flags)
    : session_(session),
      flags_(flags),
      waiters_(plan.flag_waiters),
      is_remote_(waiters_.flags() + waiters_.loopFlags()) {
  for (const PlannedThread& thread : plan.threads) {
    const int process = placement.processOf(static_cast<std::uint32_t>(thread.recorded.rank));
    const int home = session.nodeOf()[static_cast<std::size_t>(process)];
    for (const std::uint32_t flag : thread.raises) {
      if (flag == kNoFlag) continue;
      const bool is_remote = home != session.node();
      is_remote_[waiters_.placeOf(flag)] = is_remote;
      const std::span<const std::uint32_t> ranks = plan.flag_waiters.of(flag);
      if (process == session.rank()) {
        Receivers receivers = receiversOf(ranks, session.nodeOf(), home, placement);
        if (!receivers.processes.empty()) {
          receivers_.emplace(flag, std::move(receivers.processes));
        }
      } else if (is_remote && ranks.size() > kMostTold && !is_counted_on_) {
        const Receivers receivers = receiversOf(ranks, session.nodeOf(), home, placement);
        is_counted_on_ = receivers.for_their_nodes &&
                         std::binary_search(receivers.processes.begin(), receivers.processes.end(),
                                            session.rank());
      }
    }
  }
}

void Signals::connect() {
  std::set<int> all;
  for (const auto& [flag, processes] : receivers_) all.insert(processes.begin(), processes.end());
  session_.send({all.begin(), all.end()}, {.flag = kHello});
  while (session_.isSending()) receive();
}

void Signals::announce(FlagPass raised, RaisedEnd end) {
  const auto found = receivers_.find(raised.flag);
  if (found == receivers_.end()) return;
  session_.send(found->second, {.flag = raised.flag,
                                .pass = raised.pass,
                                .end_ns = end.end_ns,
                                .recorded_end_ns = end.recorded_end_ns,
                                .on_time_ns = end.on_time_ns});
}

RaisedEnd Signals::wait(FlagPass awaited, WaitKind kind) {
  const std::uint32_t flag = awaited.flag;
  const std::int64_t pass = awaited.pass;
  if (is_remote_[waiters_.placeOf(flag)] && kind != WaitKind::kBlock) {
    while (!flags_.isRaised(flag, pass)) {
      receive();
      if (!flags_.isRaised(flag, pass)) sched_yield();
    }
  }
  return flags_.wait(flag, pass, kind);
}

void Signals::receiveAll() {
  do {
    receive();
  } while (session_.underWay() > 0);
}

void Signals::receive() {
  while (const auto raised = session_.receive()) {
    if (raised->flag == kHello) continue;
    flags_.raise(static_cast<std::uint32_t>(raised->flag), raised->pass,
                 {.end_ns = raised->end_ns,
                  .recorded_end_ns = raised->recorded_end_ns,
                  .on_time_ns = raised->on_time_ns});
  }
}

}  // namespace omnio::replay
