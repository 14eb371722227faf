#include "core/base/node_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/base/control_group.hpp"
#include "core/base/integers.hpp"

namespace omnio::base {
namespace {

// The least limit from the group up to the root: "max", and version 1's all but endless number, are
// none.
std::uint64_t limitOf(const std::filesystem::path& root, std::string_view group, const char* file,
                      std::uint64_t most) {
  std::filesystem::path path = std::filesystem::path(root) += group;
  while (path.native().size() >= root.native().size()) {
    std::string word;
    std::ifstream(path / file) >> word;
    if (const auto limit = wholeNumber<std::uint64_t>(word)) most = std::min(most, *limit);
    path = path.parent_path();
  }
  return most;
}

}  // namespace

std::uint64_t memoryBytes() {
  std::uint64_t most = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  if (const auto group = controlGroup("")) {
    most = limitOf("/sys/fs/cgroup", *group, "memory.max", most);
  }
  if (const auto group = controlGroup("memory")) {
    most = limitOf("/sys/fs/cgroup/memory", *group, "memory.limit_in_bytes", most);
  }
  return most;
}

}  // namespace omnio::base
