#include "core/process_life.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace omnio {

std::string thisBoot() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  in >> id;
  return id;
}

bool isAlive(std::uint32_t pid, std::uint64_t start) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  const std::string line{std::istreambuf_iterator<char>(in), {}};
  // The name in parentheses may hold spaces and parentheses itself.
  const std::size_t behind_name = line.rfind(')');
  if (behind_name == std::string::npos) return false;
  std::istringstream fields(line.substr(behind_name + 1));
  std::string state;
  fields >> state;
  constexpr int kStartField = 22;  // counted from 1, of which the number and the name are two
  std::string field;
  for (int i = 4; i <= kStartField; ++i) fields >> field;
  if (std::strtoull(field.c_str(), nullptr, 10) != start) return false;
  if (state != "Z" && state != "X") return true;
  // A main thread that ended with pthread_exit is a zombie while the others go on.
  std::error_code error;
  const std::filesystem::directory_iterator tasks(fmt::format("/proc/{}/task", pid), error);
  return !error && std::distance(begin(tasks), end(tasks)) > 1;
}

}  // namespace omnio
