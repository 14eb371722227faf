#include "replay/run/signals.hpp"

#include <sched.h>

#include <algorithm>
#include <set>

namespace omnio::replay {
namespace {

// So many processes are told each by itself. Of more, the first one of each node is, and the flag
// in their memory tells the others: a barrier of 4,096 ranks is not to send 4,096 messages.
constexpr std::size_t kMostTold = 16;

}  // namespace

int processOf(std::uint32_t rank, const Session& session) {
  return static_cast<int>(rank % static_cast<std::uint32_t>(session.size()));
}

Signals::Signals(const Plan& plan, Session& session, Flags& flags)
    : plan_(plan), session_(session), flags_(flags), is_remote_(plan.flag_waiters.size()) {
  for (const PlannedThread& thread : plan.threads) {
    const int process = processOf(static_cast<std::uint32_t>(thread.recorded.rank), session);
    const int home = session.nodeOf()[static_cast<std::size_t>(process)];
    for (const std::uint32_t flag : thread.raises) {
      if (flag == kNoFlag) continue;
      is_remote_[flag] = home != session.node();
      const bool is_own = process == session.rank();
      const bool may_be_counted_on = is_remote_[flag] && plan.flag_waiters[flag].size() > kMostTold;
      if (!is_own && !may_be_counted_on) continue;
      Told told = toldOf(flag, home);
      if (!is_own) {
        is_counted_on_ |= told.for_their_nodes &&
                          std::find(told.processes.begin(), told.processes.end(), session.rank()) !=
                              told.processes.end();
      } else if (!told.processes.empty()) {
        receivers_.emplace(flag, std::move(told.processes));
      }
    }
  }
}

Signals::Told Signals::toldOf(std::uint32_t flag, int home) const {
  const auto nodeOf = [this](int process) {
    return session_.nodeOf()[static_cast<std::size_t>(process)];
  };
  std::set<int> waiting;
  for (const std::uint32_t rank : plan_.flag_waiters[flag]) {
    const int process = processOf(rank, session_);
    if (nodeOf(process) != home) waiting.insert(process);
  }
  if (waiting.size() <= kMostTold) return {.processes = {waiting.begin(), waiting.end()}};
  Told told{.processes = {}, .for_their_nodes = true};
  std::set<int> nodes;
  for (const int process : waiting) {
    if (nodes.insert(nodeOf(process)).second) told.processes.push_back(process);
  }
  return told;
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
