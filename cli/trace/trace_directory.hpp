// The directory a trace is written to: one job's, shared by all of its ranks.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "core/wire/run.hpp"

namespace omnio::cli {

// The value of an environment variable; empty where it is not set.
std::string variable(const char* name);

// The rank and the job that this process's launcher started it for.
struct Launcher {
  std::string job;               // empty: no launcher
  bool writes_documents = true;  // one rank of a job does it for all
  int ranks = 1;
};
Launcher launcherOf();

// <program>.<job or pid>.trace in the working directory.
std::filesystem::path defaultDirectory(const std::string& program, const Launcher& launcher);

struct ClaimedDirectory {
  std::filesystem::path path;  // canonical
  // This run's: of the first `omnio trace` of the job that came here. Its supervisor is this
  // process.
  wire::Run run;
};

// Creates the directory and claims it for the job. Fails when it cannot be written, or when it
// holds the trace of another job.
base::Result<ClaimedDirectory> claimDirectory(const std::filesystem::path& directory,
                                              const Launcher& launcher);

// A trace directory that is followed when it is moved. Keeps a descriptor; not copied.
class OpenDirectory {
 public:
  explicit OpenDirectory(std::filesystem::path path);
  ~OpenDirectory();
  OpenDirectory(const OpenDirectory&) = delete;
  OpenDirectory& operator=(const OpenDirectory&) = delete;

  const std::filesystem::path& first_path() const { return first_path_; }
  // Where it is now; nothing when it was removed.
  std::optional<std::filesystem::path> path() const;

 private:
  std::filesystem::path first_path_;
  int fd_;
};

// Gives the claim back, and the directory when it is empty: the command could not be started. Not
// for a rank of a job, whose siblings may be at work there.
void releaseDirectory(const std::filesystem::path& directory, const Launcher& launcher);

}  // namespace omnio::cli
