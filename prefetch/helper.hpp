// The helper that prefetches for one job on one node: a program of its own beside the job's
// processes, started by the first of them (trace/runtime/prefetch_start.hpp).
//
// It reads the memory that the job's threads record into (LiveProcess), learns what they do and
// fetches what they will read next (Planner, JobFiles). It ends when no process of the run is left
// on the node, or when it is told to, and leaves what came of it in a document in the trace
// directory.
//
// The application is never waited for and never waits: what the helper cannot do it leaves undone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/result.hpp"
#include "core/wire/run.hpp"

namespace omnio::prefetch {

struct HelperSettings {
  wire::Run run;
  std::filesystem::path ring_directory;
  std::filesystem::path directory;   // of the trace
  bool keeps_nothing = false;        // the directory is one on tmpfs, for this run alone
  bool lingers = false;              // waits for more processes while who started the run is there
  int socket = -1;                   // bound to the helper's name; takes orders
  std::int64_t budget_bytes = 0;     // 0: the default
  std::filesystem::path model;       // to begin with; empty: none
  std::filesystem::path save_model;  // empty: it is not saved
};

// A sixteenth of the memory that is available on the node, or to the control group of this process.
std::int64_t defaultBudget();

// Runs until the job is over. Fails where nothing can be read.
base::Result<void> help(const HelperSettings& settings);

}  // namespace omnio::prefetch
