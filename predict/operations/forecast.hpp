// What the threads of a trace would do next, as it can be told at a moment of the run from the
// operations that had ended by then; beside it what they did.
//
// Reads the operations up to that moment, and then as many of each thread as are asked for. Ranks
// are read side by side; memory is for their models, and a chunk for each of their threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/trace.hpp"
#include "predict/operations/operation.hpp"
#include "predict/operations/process_predictor.hpp"
#include "predict/operations/rank_models.hpp"

namespace omnio::predict {

struct Forecast {
  static constexpr std::size_t kMostNext = 1024;

  // An operation and the path of its file.
  struct Came {
    Operation operation;
    std::string path;
  };
  struct Said {
    ProcessPredictor::Coming operation;
    std::string path;  // with "#" for numbers, where it may be any file of this family
  };
  struct Line {
    std::optional<Said> said;
    std::optional<Came> came;

    // Whether the call, the file and the bytes are what was said; a file of the same family counts
    // where any may come, or where an earlier run alone has had one.
    bool isRight() const;
  };
  struct Thread {
    std::string process;  // "process 123 on host x"
    std::optional<int> rank;
    std::uint32_t thread = 0;
    Came last;                // that had ended
    std::vector<Line> lines;  // the first, the second, ... operation after that
  };

  std::string trace;  // the directory, as it was given
  tracefile::Wholeness wholeness;
  std::int64_t run_start_ns = 0;          // by the clock of the operations
  std::int64_t at_ns = 0;                 // by that clock
  std::vector<Thread> threads;            // in order of ranks
  std::size_t shown = kMostNext;          // of the lines of each thread
  std::optional<std::int64_t> window_ns;  // whose Counts are shown

  // How many of these operations begin within a time from the moment on, and how many before the
  // first pause that is as long: before the phase ends that is under way.
  struct Counts {
    std::uint64_t within = 0;
    std::uint64_t before_pause = 0;
    bool within_at_least = true;  // there may be more than were looked at
    bool before_pause_at_least = true;
  };
  Counts said(const Thread& thread, std::int64_t window_ns) const;
  Counts came(const Thread& thread, std::int64_t window_ns) const;

  // From the moment on, ns: before it where an operation was under way, or is overdue.
  std::optional<double> until(const Thread& thread, const Said& said) const;
  double until(const Came& came) const {
    return static_cast<double>(came.operation.start_ns - at_ns);
  }
};

// `at_ns` counts from the start of the run. Models go on with what they learnt in an earlier run,
// unless that is nullptr. Fails where the rank or thread does not exist, where no operation ended
// before that moment, or none comes after it, and where the earlier run is another application's.
base::Result<Forecast> forecast(const tracefile::Trace& trace, std::optional<int> rank,
                                std::optional<unsigned> thread, std::int64_t at_ns,
                                std::size_t count, const EarlierRun* earlier = nullptr);

// Tables for people.
std::string textOf(const Forecast& forecast);
// A document for programs: docs/formats/prediction.md.
std::string jsonOf(const Forecast& forecast);

}  // namespace omnio::predict
