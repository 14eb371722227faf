// The rings that belong to a trace: those of its run (core/wire/run.hpp), recorded for its
// directory, and owned by a user who may write it. Anyone may put files into /dev/shm, and runs
// that were killed leave rings there: what does not belong is left alone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/tracefile/ring_file.hpp"
#include "core/wire/run.hpp"

namespace omnio::tracefile {

// The file of a trace directory that says which job it belongs to (line 1) and which run (line 2).
inline constexpr const char* kClaimFile = "job";

// 32 hex digits.
std::string runIdText(const wire::RunId& run);
// A new run of this process: a random id, supervised by it. Fails never; without random numbers
// from the kernel the id is made of clocks and the pid.
wire::Run newRun();
// The value of OMNIO_RUN.
std::string runText(const wire::Run& run);
// The run that the claim of a trace directory names; not set where there is none.
wire::RunId claimedRun(const std::filesystem::path& directory);

class TraceIdentity {
 public:
  // Looks at the directory as it is now, which has to be there: its claim, its place in the file
  // system, and who may write it.
  static TraceIdentity of(const std::filesystem::path& directory);
  // For a run whose directory is gone: only this user's rings belong to it.
  static TraceIdentity ofRun(const wire::RunId& run);
  // For a directory that is gone, when nothing else is known of its run.
  static TraceIdentity ofGone(const std::filesystem::path& directory);

  enum class Fit {
    kOurs,
    kOtherRun,
    kOtherOwner,  // it names this run, but its owner may not write the trace
  };
  // By the name of the file alone: whether it may be a ring of the run.
  bool isCandidate(const RingName& name) const;
  Fit fit(const RingContent& ring, bool token_is_known) const;
  bool isOwner(uid_t user) const;

  // A process of the trace says that it became this user.
  void admitOwner(uid_t user) { owners_.insert(user); }

 private:
  TraceIdentity() = default;
  bool isForThisDirectory(const RingContent& ring, bool token_is_known) const;

  std::vector<wire::RunId> runs_;
  std::optional<std::string> gone_path_;  // the directory's, when it is all that is known
  bool is_gone_ = false;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::set<uid_t> owners_;
  bool anyone_may_write_ = false;
  std::optional<gid_t> writing_group_;
};

}  // namespace omnio::tracefile
