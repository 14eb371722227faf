// The directory a trace is written to: one job's, shared by all of its ranks.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.hpp"

namespace omnio::cli {

// What this process's launcher says: which rank it starts us for, and of which job.
struct Launcher {
  std::string job;               // empty: no launcher
  bool writes_documents = true;  // one rank of a job does it for all
  int ranks = 1;
};
Launcher launcherOf();

// <program>.<job or pid>.trace in the working directory.
std::filesystem::path defaultDirectory(const std::string& program, const Launcher& launcher);

// Creates the directory and claims it for the job. Fails when it cannot be written, or when it
// holds the trace of another job. Returns its canonical path.
Result<std::filesystem::path> claimDirectory(const std::filesystem::path& directory,
                                             const Launcher& launcher);

// Gives the claim back, and the directory when it is empty: the command could not be started. Not
// for a rank of a job, whose siblings may be at work there.
void releaseDirectory(const std::filesystem::path& directory, const Launcher& launcher);

}  // namespace omnio::cli
