#include "bench/traced_child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string_view>

extern char** environ;

namespace omnio::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

std::string readAll(int fd) {
  std::string text;
  char part[4096];
  while (true) {
    const ssize_t bytes = read(fd, part, sizeof part);
    if (bytes <= 0) return text;
    text.append(part, static_cast<std::size_t>(bytes));
  }
}

Figures figuresIn(const std::string& text) {
  Figures figures;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) {
      figures[line.substr(0, equals)] = strtod(line.c_str() + equals + 1, nullptr);
    }
    at = end + 1;
  }
  return figures;
}

std::vector<std::string> environmentWith(const std::filesystem::path& library,
                                         const std::filesystem::path& trace) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with("LD_PRELOAD=") && !text.starts_with("OMNIO_DIR=")) {
      variables.emplace_back(text);
    }
  }
  if (!library.empty()) {
    variables.push_back("LD_PRELOAD=" + library.native());
    variables.push_back("OMNIO_DIR=" + trace.native());
  }
  return variables;
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::optional<ChildRun> runChild(const std::vector<std::string>& command,
                                 const std::filesystem::path& library,
                                 const std::filesystem::path& trace) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::string> words = command;
  std::vector<std::string> variables = environmentWith(library, trace);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t pid = 0;
  const auto before = Clock::now();
  const int error = posix_spawnp(&pid, command.front().c_str(), &actions, nullptr,
                                 pointersTo(words).data(), pointersTo(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const std::string output = readAll(ends[0]);
  close(ends[0]);
  if (error != 0) return std::nullopt;
  int status = 0;
  rusage used{};
  if (wait4(pid, &status, 0, &used) != pid || status != 0) return std::nullopt;
  return ChildRun{
      .figures = figuresIn(output),
      .cpu_ns = (seconds(used.ru_utime) + seconds(used.ru_stime)) * 1e9,
      .wall_ns = std::chrono::duration<double, std::nano>(Clock::now() - before).count()};
}

}  // namespace omnio::bench
