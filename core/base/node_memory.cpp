#include "core/base/node_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/control_group.hpp"
#include "core/base/integers.hpp"

namespace omnio::base {
namespace {

namespace fs = std::filesystem;

// Where a version of control groups has the memory of a group.
struct GroupVersion {
  const char* controller;
  const char* root;
  const char* limit;
  const char* usage;
  // In memory.stat, where version 1 has those of a group without its children too.
  std::string_view inactive_file, active_file;
};
constexpr GroupVersion kVersions[] = {
    {"", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", "active_file"},
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file", "total_active_file"}};

// Nothing where the file has no number: the limit "max", and a root group has no file.
std::optional<std::uint64_t> numberIn(const fs::path& path) {
  std::string word;
  std::ifstream(path) >> word;
  return wholeNumber<std::uint64_t>(word);
}

// Calls use(version, path, limit) for the groups of this process that have a limit, from its own up
// to the root. Version 1's all but endless number is one.
template <typename Use>
void eachLimit(Use use) {
  for (const GroupVersion& version : kVersions) {
    const auto group = controlGroup(version.controller);
    if (!group) continue;
    const std::string_view root = version.root;
    for (fs::path path = fs::path(root) += *group; path.native().size() >= root.size();
         path = path.parent_path()) {
      if (const auto limit = numberIn(path / version.limit)) use(version, path, *limit);
    }
  }
}

// The sum of the values of these keys in lines of "key value".
std::uint64_t sumIn(const fs::path& path, std::string_view first, std::string_view second) {
  std::uint64_t sum = 0;
  std::ifstream in(path);
  std::string key;
  for (std::uint64_t value = 0; in >> key >> value;) {
    if (key == first || key == second) sum += value;
  }
  return sum;
}

}  // namespace

std::uint64_t memoryBytes() {
  std::uint64_t most = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  eachLimit([&](const GroupVersion&, const fs::path&, std::uint64_t limit) {
    most = std::min(most, limit);
  });
  return most;
}

std::uint64_t availableMemoryBytes() {
  std::uint64_t most = UINT64_MAX;
  std::ifstream facts("/proc/meminfo");
  std::string key;
  for (std::uint64_t kib = 0; facts >> key;) {
    if (key == "MemAvailable:" && facts >> kib) most = kib * 1024;
  }
  eachLimit([&](const GroupVersion& version, const fs::path& path, std::uint64_t limit) {
    const std::uint64_t usage = numberIn(path / version.usage).value_or(0);
    const std::uint64_t files =
        std::min(usage, sumIn(path / "memory.stat", version.inactive_file, version.active_file));
    const std::uint64_t kept = usage - files;
    most = std::min(most, limit > kept ? limit - kept : 0);
  });
  return most;
}

}  // namespace omnio::base
