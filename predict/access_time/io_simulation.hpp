// When the calls of a program end, where the time of each access is given: its I/O time.
//
// Threads work, wait for each other and access storage as the schedule says. How many accesses of
// all ranks are under way decides how long each takes (running_accesses.hpp). So ranks that write
// one after another have the storage for themselves, and ranks that meet before they write share
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "predict/access_time/access.hpp"
#include "predict/access_time/schedule_program.hpp"

namespace omnio::access_time {

// The I/O time of a rank, as core/event/io_time.hpp defines it, in seconds.
struct RankTime {
  double data_s = 0;
  double metadata_s = 0;
  double sync_s = 0;
  double total() const { return data_s + metadata_s + sync_s; }
};

struct AccessUse {
  Access access;       // `processes`: the mean over its uses
  double count = 0;    // in all ranks
  double seconds = 0;  // of all of them
};

struct IoProfile {
  std::vector<RankTime> ranks;
  std::vector<AccessUse> uses;
  double makespan_s = 0;             // 0: not known
  std::size_t slowest_rank = 0;      // the rank that has most I/O time
  std::uint64_t given_up_waits = 0;  // for events that never end

  const RankTime& slowest() const { return ranks[slowest_rank]; }
};

// Of a program with the steps of its threads.
IoProfile simulate(const Program& program, const SecondsOf& seconds_of);

// Of a program that is counted. How many processes access storage at once follows from the part of
// their time that the others spend in calls.
IoProfile balance(const Program& program, const SecondsOf& seconds_of);

}  // namespace omnio::access_time
