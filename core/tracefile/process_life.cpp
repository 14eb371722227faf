#include "core/tracefile/process_life.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/base/file.hpp"
#include "core/wire/checksum.hpp"

namespace omnio::tracefile {

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

std::uint64_t bootNumber(const std::string& boot) {
  return boot.empty() ? 0 : wire::checksum(boot.data(), boot.size());
}

std::uint64_t pidNamespaceNumber() {
  struct stat facts {};
  return ::stat("/proc/self/ns/pid", &facts) == 0 ? facts.st_ino : 0;
}

namespace {

struct Stat {
  std::string state;
  std::uint64_t start = 0;
};

std::optional<Stat> statOf(std::uint32_t pid) {
  // By plain reads: the process may go while it is looked at, which streams take for an accident.
  const base::Result<base::File> file = base::File::open(fmt::format("/proc/{}/stat", pid));
  if (!file) return {};
  std::string line(4096, '\0');
  line.resize(file->readAt(0, line.data(), line.size()));
  // The name in parentheses may hold spaces and parentheses itself.
  const std::size_t behind_name = line.rfind(')');
  if (behind_name == std::string::npos) return {};
  std::istringstream fields(line.substr(behind_name + 1));
  Stat stat;
  fields >> stat.state;
  constexpr int kStartField = 22;  // counted from 1, of which the number and the name are two
  std::string field;
  for (int i = 4; i <= kStartField; ++i) fields >> field;
  stat.start = std::strtoull(field.c_str(), nullptr, 10);
  return stat;
}

}  // namespace

std::optional<std::uint64_t> startOf(std::uint32_t pid) {
  const auto stat = statOf(pid);
  if (!stat) return {};
  return stat->start;
}

bool isAlive(std::uint32_t pid, std::uint64_t start) {
  const auto stat = statOf(pid);
  if (!stat || stat->start != start) return false;
  if (stat->state != "Z" && stat->state != "X") return true;
  // A main thread that ended with pthread_exit is a zombie while the others go on.
  std::error_code error;
  std::filesystem::directory_iterator task(fmt::format("/proc/{}/task", pid), error);
  int tasks = 0;
  for (; !error && task != std::filesystem::directory_iterator(); task.increment(error)) ++tasks;
  return !error && tasks > 1;
}

}  // namespace omnio::tracefile
