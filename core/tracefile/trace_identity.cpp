#include "core/tracefile/trace_identity.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "core/tracefile/process.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/container.hpp"

namespace omnio::tracefile {
namespace {

namespace fs = std::filesystem;

struct DirectoryFacts {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t birth_ns = 0;
  uid_t owner = 0;
  gid_t group = 0;
  mode_t mode = 0;
};

// As the tracer looks at it (trace/runtime/identity.cpp): both have to find the same.
std::optional<DirectoryFacts> factsOf(const fs::path& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0) return {};
  DirectoryFacts facts{.device = static_cast<std::uint64_t>(s.st_dev),
                       .inode = static_cast<std::uint64_t>(s.st_ino),
                       .owner = s.st_uid,
                       .group = s.st_gid,
                       .mode = s.st_mode};
  struct statx x {};
  if (statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_INO | STATX_BTIME, &x) == 0 &&
      (x.stx_mask & STATX_BTIME) != 0) {
    facts.birth_ns =
        static_cast<std::uint64_t>(x.stx_btime.tv_sec) * 1000000000U + x.stx_btime.tv_nsec;
  }
  return facts;
}

bool isInGroup(uid_t user, gid_t group) {
  const passwd* account = getpwuid(user);
  if (account == nullptr) return false;
  std::vector<gid_t> groups(64);
  int count = static_cast<int>(groups.size());
  if (getgrouplist(account->pw_name, account->pw_gid, groups.data(), &count) < 0) {
    groups.resize(static_cast<std::size_t>(count));
    if (getgrouplist(account->pw_name, account->pw_gid, groups.data(), &count) < 0) return false;
  }
  groups.resize(static_cast<std::size_t>(count));
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

}  // namespace

std::string runIdText(const wire::RunId& run) {
  return fmt::format("{:016x}{:016x}", run.high, run.low);
}

wire::Run newRun() {
  wire::Run run;
  if (getrandom(&run.id, sizeof run.id, 0) != static_cast<ssize_t>(sizeof run.id) ||
      !run.id.isSet()) {
    run.id = wire::derivedRun(wire::systemNs(CLOCK_REALTIME), wire::systemNs(CLOCK_MONOTONIC),
                              static_cast<std::uint64_t>(getpid()));
  }
  run.supervisor.pid = static_cast<std::uint32_t>(getpid());
  run.supervisor.start = startOf(run.supervisor.pid).value_or(0);
  run.supervisor.boot = bootNumber(thisBoot());
  return run;
}

std::string runText(const wire::Run& run) {
  return fmt::format("{}.{:x}.{:x}.{:x}", runIdText(run.id), run.supervisor.pid,
                     run.supervisor.start, run.supervisor.boot);
}

wire::RunId claimedRun(const fs::path& directory) {
  std::ifstream in(directory / kClaimFile);
  std::string line;
  std::getline(in, line);
  wire::RunId run;
  if (!std::getline(in, line)) return run;
  std::string_view rest = line;
  if (!wire::takeRunId(rest, run) || !rest.empty()) return {};
  return run;
}

TraceIdentity TraceIdentity::of(const fs::path& directory) {
  TraceIdentity identity;
  if (const wire::RunId claimed = claimedRun(directory); claimed.isSet()) {
    identity.runs_.push_back(claimed);
  }
  const auto facts = factsOf(directory);
  if (!facts) return identity;
  identity.device_ = facts->device;
  identity.inode_ = facts->inode;
  identity.runs_.push_back(wire::derivedRun(facts->device, facts->inode, facts->birth_ns));
  identity.owners_ = {0, facts->owner};
  identity.anyone_may_write_ = (facts->mode & S_IWOTH) != 0;
  if ((facts->mode & S_IWGRP) != 0) identity.writing_group_ = facts->group;
  // A user who has put a container there was able to write there.
  for (const fs::directory_entry& entry : entriesOf(directory)) {
    struct stat s {};
    if (entry.path().extension() == wire::kContainerSuffix &&
        lstat(entry.path().c_str(), &s) == 0) {
      identity.owners_.insert(s.st_uid);
    }
  }
  return identity;
}

TraceIdentity TraceIdentity::ofRun(const wire::RunId& run) {
  TraceIdentity identity;
  identity.runs_ = {run};
  identity.is_gone_ = true;
  identity.owners_ = {geteuid()};
  return identity;
}

TraceIdentity TraceIdentity::ofGone(const fs::path& directory) {
  TraceIdentity identity;
  identity.is_gone_ = true;
  identity.gone_path_ = directory.native();
  identity.owners_ = {geteuid()};
  return identity;
}

bool TraceIdentity::isCandidate(const RingName& name) const {
  return gone_path_ || std::find(runs_.begin(), runs_.end(), name.run) != runs_.end();
}

bool TraceIdentity::isForThisDirectory(const RingContent& ring, bool token_is_known) const {
  if (gone_path_) return ring.trace_directory == *gone_path_;
  if (is_gone_) return true;
  if (ring.directory_device == device_ && ring.directory_inode == inode_) return true;
  // The process could not look at the directory; only `omnio trace` can have told it of the run.
  if (ring.directory_inode == 0) return true;
  // The directory was moved to another file system. Of a copy beside the original the rings are the
  // original's.
  if (!token_is_known) return false;
  const auto original = factsOf(ring.trace_directory);
  return !original || original->device != ring.directory_device ||
         original->inode != ring.directory_inode;
}

bool TraceIdentity::isOwner(uid_t user) const {
  return anyone_may_write_ || owners_.contains(user) ||
         (writing_group_ && isInGroup(user, *writing_group_));
}

TraceIdentity::Fit TraceIdentity::fit(const RingContent& ring, bool token_is_known) const {
  if (!isCandidate({.run = ring.run, .token = ring.token}) ||
      !isForThisDirectory(ring, token_is_known)) {
    return Fit::kOtherRun;
  }
  return ring.uid == ring.stated_uid && isOwner(ring.uid) ? Fit::kOurs : Fit::kOtherOwner;
}

}  // namespace omnio::tracefile
