// A process of a replay ends with those that started it. `omnio replay` may be ended by SIGKILL,
// the last word of a batch system, and no process can pass that on: launcher and ranks would go on
// without it, and ranks that wait for each other keep a processor busy each.
//
// Each process watches two things in a thread of its own, and ends when one of them has gone:
// - its parent, which is the launcher (or its daemon on that node), or `omnio trace`;
// - the life line, a pipe that `omnio replay` holds the other end of for as long as it lives. It is
//   the launcher's standard input, which launchers forward to the first rank, also on another node.
//   The greeting that comes first tells a life line from whatever else a launcher makes of standard
//   input. When the first rank ends, its launcher ends the others.
// The thread sleeps until one of them is gone, so the time of a replay does not have it.
#pragma once

#include <string_view>

namespace omnio::replay {

inline constexpr std::string_view kLifeLineGreeting = "omnio replay: life line\n";

struct Starters {
  bool parent = false;     // it is a launcher, or `omnio trace`
  bool life_line = false;  // standard input may be one
};
// Watches them from now on. Called once, before MPI starts threads. Without memory for a thread
// nothing is watched.
void endWithStarters(Starters starters);

}  // namespace omnio::replay
