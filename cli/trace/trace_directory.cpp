#include "cli/trace/trace_directory.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <system_error>

#include "core/base/printable.hpp"
#include "core/tracefile/process.hpp"
#include "core/tracefile/trace_identity.hpp"
#include "core/wire/run.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClaim = tracefile::kClaimFile;

}  // namespace

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? std::string() : value;
}

Launcher launcherOf() {
  for (const wire::LauncherVariables& names : wire::kLaunchers) {
    const std::string rank = variable(names.rank);
    const std::string ranks = variable(names.ranks);
    if (rank.empty() || ranks.empty()) continue;
    std::string job = fmt::format("{} {}", names.rank, variable(names.job));
    // Each step of a Slurm job, and each start of one that was requeued, is a job of its own here.
    for (const char* part : names.job_parts) {
      if (part == nullptr) continue;
      if (const std::string value = variable(part); !value.empty()) job += '.' + value;
    }
    return {.job = std::move(job), .writes_documents = rank == "0", .ranks = atoi(ranks.c_str())};
  }
  return {};
}

fs::path defaultDirectory(const std::string& program, const Launcher& launcher) {
  std::string job = launcher.job.substr(launcher.job.find(' ') + 1);
  std::replace(job.begin(), job.end(), '/', '-');
  return fmt::format("{}.{}.trace", fs::path(program).filename().native(),
                     job.empty() ? std::to_string(getpid()) : job);
}

base::Result<ClaimedDirectory> claimDirectory(const fs::path& directory, const Launcher& launcher) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return base::systemFailure(directory, error.value(), "cannot create");
  const fs::path real = fs::canonical(directory, error);
  if (error) return base::systemFailure(directory, error.value());
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::string claim =
      launcher.job.empty()
          ? fmt::format("{} {} {}.{:09}", tracefile::thisBoot(), getpid(), now.tv_sec, now.tv_nsec)
          : launcher.job;
  ClaimedDirectory claimed{.path = real, .run = tracefile::newRun()};
  // Written under another name and linked: a sibling finds the whole claim or none.
  const fs::path draft = real / fmt::format("{}.{}.{}", kClaim, getpid(), now.tv_nsec);
  {
    std::ofstream out(draft);
    out << claim << '\n' << tracefile::runIdText(claimed.run.id) << '\n';
    out.close();
    if (!out) {
      const int reason = errno;
      fs::remove(draft, error);
      return base::systemFailure(real, reason, "cannot write in");
    }
  }
  const int linked = link(draft.c_str(), (real / kClaim).c_str()) == 0 ? 0 : errno;
  fs::remove(draft, error);
  if (linked == 0) return claimed;
  if (linked != EEXIST) return base::systemFailure(real, linked, "cannot write in");
  std::ifstream in(real / kClaim);
  std::string holder;
  std::getline(in, holder);
  if (!launcher.job.empty() && holder == claim) {
    claimed.run.id = tracefile::claimedRun(real);
    return claimed;
  }
  return base::failure(base::Code::kInvalid,
                       "{} holds another trace already; name another directory with -o, or "
                       "remove it",
                       base::printable(real.native()));
}

OpenDirectory::OpenDirectory(fs::path path)
    : first_path_(std::move(path)),
      fd_(::open(first_path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

OpenDirectory::~OpenDirectory() {
  if (fd_ >= 0) ::close(fd_);
}

std::optional<fs::path> OpenDirectory::path() const {
  struct stat opened {};
  struct stat named {};
  const auto is_it = [&](const fs::path& path) {
    return ::stat(path.c_str(), &named) == 0 && named.st_dev == opened.st_dev &&
           named.st_ino == opened.st_ino;
  };
  if (fd_ < 0 || fstat(fd_, &opened) != 0) {
    return ::stat(first_path_.c_str(), &named) == 0 ? std::optional(first_path_) : std::nullopt;
  }
  if (is_it(first_path_)) return first_path_;
  std::error_code error;
  fs::path now = fs::read_symlink(fmt::format("/proc/self/fd/{}", fd_), error);
  if (error || !is_it(now)) return {};
  return now;
}

void releaseDirectory(const fs::path& directory, const Launcher& launcher) {
  if (!launcher.job.empty()) return;
  std::error_code error;
  fs::remove(directory / kClaim, error);
  fs::remove(directory, error);
}

}  // namespace omnio::cli
