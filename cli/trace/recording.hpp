// Runs a command with the tracer preloaded, and outlives it: what `omnio trace` and `omnio
// prefetch` do. What a killed process left in memory is brought into the trace, and the manifest is
// written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/trace/prefetching.hpp"
#include "cli/trace/setting_values.hpp"
#include "core/base/result.hpp"
#include "core/wire/settings.hpp"

namespace omnio::cli {

inline constexpr int kOwnTrouble = 125;  // as env(1) and timeout(1) have it

struct RecordingRequest {
  std::vector<std::string> command;
  SettingValues values;  // in force
  int verbosity = 0;     // of -v and -vv
  std::optional<PrefetchRequest> prefetch;

  const std::string& word(wire::SettingId id) const { return values.word(id); }
};

// Where prefetching cannot be had: says why, and runs the command alone.
int runWithout(const std::vector<std::string>& command, const base::Failure& failure);

// Returns the status of the command, or of what kept it from running.
int record(RecordingRequest request);

}  // namespace omnio::cli
