// Prepares a command whose reads are to be prefetched, and reports at its end.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/trace/setting_values.hpp"
#include "cli/trace/trace_directory.hpp"
#include "core/base/result.hpp"
#include "core/wire/run.hpp"
#include "prefetch/helper.hpp"

namespace omnio::cli {

struct PrefetchRequest {
  bool keeps_nothing = false;     // the trace is not wanted
  std::int64_t budget_bytes = 0;  // 0: the default
  std::string model;              // files; empty: none
  std::string save_model;
  std::string json;
  bool is_quiet = false;
};

// For a trace that is not wanted: a directory on tmpfs in place of the one that is asked for, and
// no more in it than processes need to tell of themselves. Fails where no tmpfs is found.
base::Result<std::filesystem::path> directoryOfNothing(const Launcher& launcher);
void keepNothing(SettingValues& values, const std::filesystem::path& directory);

// Sets the variable by which the first traced process on a node starts the helper
// (core/wire/prefetch.hpp).
void askForPrefetching(const PrefetchRequest& request, const Launcher& launcher);

// The command has ended: so does the helper on this node. Says what came of it, and removes a
// directory of nothing.
void concludePrefetching(const PrefetchRequest& request, const std::filesystem::path& directory,
                         const wire::RunId& run, const Launcher& launcher);

}  // namespace omnio::cli
