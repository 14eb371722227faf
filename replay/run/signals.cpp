#include "replay/run/signals.hpp"

#include <sched.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "replay/run/receivers.hpp"

namespace omnio::replay {

Signals::Signals(const Plan& plan, const Placement& placement, Session& session, Flags& flags)
    : session_(session), flags_(flags), is_remote_(plan.flag_waiters.flags()) {
  for (const PlannedThread& thread : plan.threads) {
    const int process = placement.processOf(static_cast<std::uint32_t>(thread.recorded.rank));
    const int home = session.nodeOf()[static_cast<std::size_t>(process)];
    for (const std::uint32_t flag : thread.raises) {
      if (flag == kNoFlag) continue;
      is_remote_[flag] = home != session.node();
      const std::span<const std::uint32_t> ranks = plan.flag_waiters.of(flag);
      if (process == session.rank()) {
        Receivers receivers = receiversOf(ranks, session.nodeOf(), home, placement);
        if (!receivers.processes.empty()) {
          receivers_.emplace(flag, std::move(receivers.processes));
        }
      } else if (is_remote_[flag] && ranks.size() > kMostTold && !is_counted_on_) {
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
  session_.send({all.begin(), all.end()}, {.flag = kHello, .end_ns = 0});
  while (session_.isSending()) receive();
}

void Signals::announce(std::uint32_t flag, std::int64_t end_ns) {
  const auto found = receivers_.find(flag);
  if (found == receivers_.end()) return;
  session_.send(found->second, {.flag = flag, .end_ns = end_ns});
}

std::int64_t Signals::wait(std::uint32_t flag, WaitKind kind) {
  if (is_remote_[flag] && kind != WaitKind::kBlock) {
    while (!flags_.isRaised(flag)) {
      receive();
      if (!flags_.isRaised(flag)) sched_yield();
    }
  }
  return flags_.wait(flag, kind);
}

void Signals::receiveAll() {
  do {
    receive();
  } while (session_.underWay() > 0);
}

void Signals::receive() {
  while (const auto raised = session_.receive()) {
    if (raised->flag == kHello) continue;
    flags_.raise(static_cast<std::uint32_t>(raised->flag), raised->end_ns);
  }
}

}  // namespace omnio::replay
