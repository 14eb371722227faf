// The loops of a schedule that are the time steps of its program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "preprocess/scale/recorded_schedule.hpp"

namespace omnio::preprocess::scale {

struct TimeSteps {
  // By thread: its loops over the time steps, each with so many turns, or one fewer. None: the
  // thread has no time steps.
  std::vector<std::vector<TurnLoop>> loops;
  std::uint64_t turns = 0;
};

// The number of time steps is the number of turns of outermost loops, in all threads, that took
// most of the time; loops that only read count where none writes. Times include waiting, so a loop
// over the time steps takes long in each thread. Loops with a multiple of these turns go over them
// too (a turn is a part of a time step), and such with one turn fewer (as where a program reads
// ahead): where the thread has a loop with just as many turns, those that work on the files of
// it, as where what was written is read again; else the longest of its loops.
//
// Fails without a loop.
base::Result<TimeSteps> timeStepsOf(RecordedSchedule& schedule);

}  // namespace omnio::preprocess::scale
