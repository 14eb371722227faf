#include "cli/trace_directory.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <system_error>

#include "core/process_life.hpp"
#include "core/wire/launcher.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClaim = "job";

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Failure systemFailure(const std::string& what, int error) {
  return {Code::kSystem, fmt::format("{}: {}", what, strerror(error))};
}

}  // namespace

Launcher launcherOf() {
  for (const wire::LauncherVariables& names : wire::kLaunchers) {
    const std::string rank = variable(names.rank);
    const std::string ranks = variable(names.ranks);
    if (rank.empty() || ranks.empty()) continue;
    return {.job = fmt::format("{} {}", names.rank, variable(names.job)),
            .writes_documents = rank == "0",
            .ranks = atoi(ranks.c_str())};
  }
  return {};
}

fs::path defaultDirectory(const std::string& program, const Launcher& launcher) {
  std::string job = launcher.job.substr(launcher.job.find(' ') + 1);
  for (char& c : job) {
    if (c == '/') c = '-';
  }
  return fmt::format("{}.{}.trace", fs::path(program).filename().native(),
                     job.empty() ? std::to_string(getpid()) : job);
}

Result<fs::path> claimDirectory(const fs::path& directory, const Launcher& launcher) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return systemFailure(fmt::format("cannot create {}", directory.native()), error.value());
  }
  const fs::path real = fs::canonical(directory, error);
  if (error) return systemFailure(directory.native(), error.value());
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::string claim = launcher.job.empty() ? fmt::format("{} {} {}.{:09}", thisBoot(),
                                                               getpid(), now.tv_sec, now.tv_nsec)
                                                 : launcher.job;
  // Written under another name and linked: a sibling finds the whole claim or none.
  const fs::path draft = real / fmt::format("{}.{}.{}", kClaim, getpid(), now.tv_nsec);
  {
    std::ofstream out(draft);
    out << claim << '\n';
    out.close();
    if (!out) {
      const int reason = errno;
      fs::remove(draft, error);
      return systemFailure(fmt::format("cannot write in {}", real.native()), reason);
    }
  }
  const int linked = link(draft.c_str(), (real / kClaim).c_str()) == 0 ? 0 : errno;
  fs::remove(draft, error);
  if (linked == 0) return real;
  if (linked != EEXIST) {
    return systemFailure(fmt::format("cannot write in {}", real.native()), linked);
  }
  std::ifstream in(real / kClaim);
  std::string holder;
  std::getline(in, holder);
  if (!launcher.job.empty() && holder == claim) return real;
  return Failure{Code::kInvalid,
                 fmt::format("{} holds another trace already; name another directory with -o, or "
                             "remove it",
                             real.native())};
}

void releaseDirectory(const fs::path& directory, const Launcher& launcher) {
  if (!launcher.job.empty()) return;
  std::error_code error;
  fs::remove(directory / kClaim, error);
  fs::remove(directory, error);
}

}  // namespace omnio::cli
