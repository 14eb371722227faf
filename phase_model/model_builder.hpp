// From a trace to the phase model of its application.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"
#include "core/tracefile/trace.hpp"
#include "phase_model/lap_stream.hpp"
#include "phase_model/step_phases.hpp"

namespace omnio::phases {

struct Options {
  // Events that are no file operations between two requests of one pattern, at most.
  std::uint64_t longest_gap = kUsualGap;
};

// Memory grows with the patterns there are, not with the events. A trace that is not whole gives
// the model of what it has, and the model says so.
struct MadeModel {
  model::PhaseModel model;
  StepPhases steps;
};
base::Result<MadeModel> makePhaseModel(const tracefile::Trace& trace, const Options& options);

// The part behind the reading of traces: accesses come rank by rank, those of a rank in the order
// of time.
class ModelBuilder {
 public:
  explicit ModelBuilder(const Options& options) : options_(options) {}

  void beginRank(int rank);
  void add(const Access& access);
  // `threads`: by Access::thread, the process by place in the trace, and the thread of its log.
  using Threads = std::vector<std::pair<std::size_t, std::uint32_t>>;
  void endRank(const Threads& threads = {});

  // Fills in files and phases, and what of `left_out` concerns them. Paths are those of the
  // accesses' files, `standing` says which of them are one (FileNames::standing()); none are where
  // it is empty. Times count from `origin_ns`.
  void finish(const event::PathTable& paths, const std::vector<event::FileId>& standing,
              std::int64_t origin_ns, model::PhaseModel& model, StepPhases* steps = nullptr);

 private:
  Options options_;
  std::vector<Lap> laps_;
  std::vector<event::FileId> overflowed_;
  std::optional<RankPatterns> rank_;
  std::map<int, Threads> threads_;  // by rank
};

}  // namespace omnio::phases
