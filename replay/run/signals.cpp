#include "replay/run/signals.hpp"

#include <sched.h>

#include <algorithm>
#include <set>

namespace omnio::replay {
namespace {

// So many processes of a node are told each by itself. Of more, the first one is, and the flag in
// their memory tells the others: a barrier of 4,096 ranks is not to send 4,096 messages.
constexpr std::size_t kMostTold = 8;

// By node, the processes that wait for the flag, without repetition.
std::vector<std::vector<int>> waitersByNode(const Plan& plan, const Session& session,
                                            std::uint32_t flag) {
  std::vector<std::vector<int>> waiters(session.leaderOf().size());
  for (const std::uint32_t rank : plan.flag_waiters[flag]) {
    const int process = processOf(rank, session);
    waiters[static_cast<std::size_t>(session.nodeOf()[static_cast<std::size_t>(process)])]
        .push_back(process);
  }
  for (std::vector<int>& processes : waiters) {
    std::sort(processes.begin(), processes.end());
    processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
  }
  return waiters;
}

}  // namespace

int processOf(std::uint32_t rank, const Session& session) {
  return static_cast<int>(rank % static_cast<std::uint32_t>(session.size()));
}

Signals::Signals(const Plan& plan, Session& session, Flags& flags)
    : plan_(plan), session_(session), flags_(flags), is_remote_(plan.flag_waiters.size()) {
  for (const PlannedThread& thread : plan.threads) {
    const int process = processOf(static_cast<std::uint32_t>(thread.recorded.rank), session);
    const bool is_here = session.nodeOf()[static_cast<std::size_t>(process)] == session.node();
    for (const std::uint32_t flag : thread.raises) {
      if (flag == kNoFlag) continue;
      is_remote_[flag] = !is_here;
      if (process == session.rank()) addReceivers(flag);
    }
  }
  for (std::uint32_t flag = 0; flag < is_remote_.size() && !is_counted_on_; ++flag) {
    if (!is_remote_[flag]) continue;
    const std::vector<int> here =
        waitersByNode(plan, session, flag)[static_cast<std::size_t>(session.node())];
    is_counted_on_ = here.size() > kMostTold && here.front() == session.rank();
  }
}

void Signals::addReceivers(std::uint32_t flag) {
  const std::vector<std::vector<int>> waiters = waitersByNode(plan_, session_, flag);
  std::vector<int> told;
  for (std::size_t node = 0; node < waiters.size(); ++node) {
    const std::vector<int>& processes = waiters[node];
    if (static_cast<int>(node) == session_.node() || processes.empty()) continue;
    if (processes.size() > kMostTold) {
      told.push_back(processes.front());
    } else {
      told.insert(told.end(), processes.begin(), processes.end());
    }
  }
  if (!told.empty()) receivers_.emplace(flag, std::move(told));
}

void Signals::connect() {
  std::set<int> all;
  for (const auto& [flag, processes] : receivers_) all.insert(processes.begin(), processes.end());
  for (const int process : all) session_.send(process, {.flag = kHello, .end_ns = 0});
  while (session_.isSending()) receive();
}

void Signals::announce(std::uint32_t flag, std::int64_t end_ns) {
  const auto found = receivers_.find(flag);
  if (found == receivers_.end()) return;
  for (const int process : found->second) session_.send(process, {.flag = flag, .end_ns = end_ns});
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

void Signals::receive() {
  while (const auto raised = session_.receive()) {
    if (raised->flag == kHello) continue;
    flags_.raise(static_cast<std::uint32_t>(raised->flag), raised->end_ns);
  }
}

}  // namespace omnio::replay
