#include "core/process_life.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/file.hpp"

namespace omnio {

std::string thisBoot() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  in >> id;
  return id;
}

std::string thisPidNamespace() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/pid", error).native();
}

bool isAlive(std::uint32_t pid, std::uint64_t start) {
  // By plain reads: the process may go while it is looked at, which streams take for an accident.
  const Result<File> file = File::open(fmt::format("/proc/{}/stat", pid));
  if (!file) return false;
  std::string line(4096, '\0');
  line.resize(file->readAt(0, line.data(), line.size()));
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
  std::filesystem::directory_iterator task(fmt::format("/proc/{}/task", pid), error);
  int tasks = 0;
  for (; !error && task != std::filesystem::directory_iterator(); task.increment(error)) ++tasks;
  return !error && tasks > 1;
}

}  // namespace omnio
