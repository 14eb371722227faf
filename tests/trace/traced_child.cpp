#include "tests/trace/traced_child.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace omnio::test {

int runInChild(const std::function<void()>& body, const Environment& variables) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return status;
}

int runTraced(const std::filesystem::path& trace, const std::function<void()>& body,
              Environment variables) {
  std::filesystem::create_directories(trace);
  variables["OMNIO_DIR"] = trace.native();
  return runInChild(body, variables);
}

}  // namespace omnio::test
