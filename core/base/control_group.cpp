#include "core/base/control_group.hpp"

#include <fstream>

namespace omnio::base {

std::optional<std::string> controlGroup(std::string_view controller) {
  std::ifstream groups("/proc/self/cgroup");
  const std::string wanted = std::string(",").append(controller).append(",");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:path
    const std::size_t controllers = line.find(':');
    const std::size_t path = line.find(':', controllers + 1);
    if (controllers == line.npos || path == line.npos) continue;
    const std::string names = "," + line.substr(controllers + 1, path - controllers - 1) + ",";
    // Version 2 names no controller.
    const bool is_it = controller.empty() ? names == ",," : names.find(wanted) != names.npos;
    if (is_it) return line.substr(path + 1);
  }
  return std::nullopt;
}

}  // namespace omnio::base
