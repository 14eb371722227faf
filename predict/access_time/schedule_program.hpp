// A schedule as far as its I/O time goes: what each thread accesses, what it needs by itself
// between two calls, and what it waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "predict/access_time/access.hpp"

namespace omnio::access_time {

inline constexpr std::uint32_t kNoAccess = 0xFFFFFFFF;

inline constexpr std::uint32_t kNoDetail = 0xFFFFFFFF;

// An event, or one of several accesses of a call. There are many millions of them.
struct ProgramStep {
  std::uint32_t access = kNoAccess;  // of Program::accesses
  std::uint32_t detail = kNoDetail;  // of Program::details
  std::int64_t own_ns = 0;           // after the thread's step before, without waiting
};

// A step that waits, or that others wait for, or a delay, has this besides.
struct StepDetail {
  std::uint32_t first_wait = 0;  // of Program::waits
  std::uint32_t waits = 0;
  bool is_delay = false;  // it takes as long as it was recorded
  // Its own work is not known: it is what was recorded, less the waiting for those events.
  bool has_recorded_pause = false;
  std::int64_t before_ns = 0;  // when the thread's steps before ended, in the recording
  std::int64_t start_ns = 0;   // in the recording
  std::int64_t end_ns = 0;
  std::uint64_t id = 0;  // in the schedule; 0: no step waits for its end
};

struct StepWait {
  std::uint64_t detail = kNoDetail;  // of the step that has to be over; kNoDetail: of none
  std::int64_t work_ns = 0;          // between its end and the start, at least
};

struct ProgramThread {
  int rank = 0;
  std::int64_t recorder_ns = 0;  // between two events, in the recording
  std::vector<ProgramStep> steps;
};

// The accesses of a rank, counted.
struct RankAccesses {
  struct Count {
    std::uint32_t access = 0;
    double count = 0;
    double processes = 0;  // at once; 0: it follows from what all ranks do
  };
  std::vector<Count> counts;
  double own_s = 0;  // between its calls, where that is known
};

struct Program {
  std::vector<Access> accesses;  // each once; `processes` is not set
  // One of the two: the steps of all threads, or, where these would be too many, what each rank
  // accesses.
  std::vector<ProgramThread> threads;
  std::vector<StepDetail> details;
  std::vector<StepWait> waits;
  std::vector<RankAccesses> ranks;
  bool isCounted() const { return !ranks.empty(); }

  int rank_count = 0;
  double events = 0;
  double moved_bytes = 0;
  double direct_bytes = 0;      // by descriptors with O_DIRECT
  std::uint64_t mpi_calls = 0;  // reads and writes by MPI-IO
  std::string source;           // the trace that it was made from
  // What it is not: sentences.
  std::vector<std::string> notes;
};

// Steps that are gone through one by one. A program of more is counted.
inline constexpr double kMostSteps = 16e6;

// Fails with the sentence of the reader. Loops of a program that is counted are not written out:
// of some turns, spread over all, each is looked at with the turn before it, and stands for those
// between.
base::Result<Program> readProgram(const std::filesystem::path& schedule,
                                  double most_steps = kMostSteps);

}  // namespace omnio::access_time
