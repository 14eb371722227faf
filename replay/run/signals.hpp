// Flags between the nodes of a replay (flags.hpp has those within a node). The thread that raises a
// flag sends messages to the processes that wait for it on other nodes. A thread that waits for a
// flag of another node looks for messages itself unless it sleeps, as the application did in its
// MPI calls, so no other thread has to wake up. Nothing here fails: MPI ends the job when it cannot
// send.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "replay/plan/plan.hpp"
#include "replay/run/flags.hpp"
#include "replay/run/session.hpp"

namespace omnio::replay {

class Signals {
 public:
  // `session` and `flags` have to outlive the object.
  Signals(const Plan& plan, const Placement& placement, Session& session, Flags& flags);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Sends a message to everyone that will get one, so that no connection has to be made later, when
  // it would take milliseconds.
  void connect();
  // Tells the other nodes of a flag that a thread of this process has raised. By any thread.
  void announce(FlagPass raised, RaisedEnd end);
  // Waits until the flag is raised, here or elsewhere; returns when the event ended. By any thread.
  RaisedEnd wait(FlagPass awaited, WaitKind kind);
  // Raises the flags that other nodes have told of. By any thread.
  void receive();
  // The same until nothing is under way any more, in all processes at once, when their threads have
  // ended: processes of one node are told of the same flag, and not all of them wait for its
  // message.
  void receiveAll();
  // Whether other processes of the node count on this one to receive soon, whatever it does.
  bool isCountedOn() const { return is_counted_on_; }

 private:
  static constexpr std::int64_t kHello = -1;

  Session& session_;
  Flags& flags_;
  const FlagWaiters& waiters_;
  std::vector<bool> is_remote_;  // by flag: a rank of another node raises it
  // By flag, of those that this process raises: the processes to tell.
  std::unordered_map<std::uint32_t, std::vector<int>> receivers_;
  bool is_counted_on_ = false;
};

}  // namespace omnio::replay
