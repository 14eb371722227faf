// An earlier run of the application by its trace, whose operations models learn from again.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/tracefile/process.hpp"
#include "core/tracefile/trace.hpp"
#include "predict/operations/rank_models.hpp"

namespace omnio::predict {

using Processes = std::vector<const tracefile::Process*>;

// The processes of each rank, in order; one without a rank is alone.
std::vector<std::pair<RankKey, Processes>> byRank(const tracefile::Trace& trace,
                                                  const Processes& processes);
// The programs of a trace, without their directories.
std::set<std::string> programsOf(const tracefile::Trace& trace);

// The models that a rank of the trace continues; nullptr where `earlier` is, or lacks that rank.
base::Result<std::unique_ptr<RankModels>> modelsFor(const EarlierRun* earlier, RankKey rank);
// Fails where no program of the trace is one of the earlier run. `earlier` may be nullptr.
base::Result<void> checkApplication(const tracefile::Trace& trace, const EarlierRun* earlier);

class EarlierTrace final : public EarlierRun {
 public:
  // The trace outlives this object. With `thread`, models learn from that thread of each process
  // alone.
  EarlierTrace(const tracefile::Trace& trace, std::optional<unsigned> thread);

  std::string path() const override { return trace_.directory().native(); }
  std::set<std::string> programs() const override { return programsOf(trace_); }
  bool isWhole() const override { return is_whole_; }
  base::Result<std::unique_ptr<RankModels>> of(RankKey rank) const override;

 private:
  const tracefile::Trace& trace_;
  std::optional<unsigned> thread_;
  bool is_whole_;
  std::map<RankKey, Processes> ranks_;
};

}  // namespace omnio::predict
