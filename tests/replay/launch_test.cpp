#include "replay/launch.hpp"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/core/temporary_directory.hpp"

namespace omnio::replay {
namespace {

// Names of files in a directory whose bytes were changed while they had that name.
class ChangedNames {
 public:
  explicit ChangedNames(const std::filesystem::path& directory)
      : fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    inotify_add_watch(fd_, directory.c_str(), IN_MODIFY);
  }
  ChangedNames(const ChangedNames&) = delete;
  ChangedNames& operator=(const ChangedNames&) = delete;
  ~ChangedNames() { close(fd_); }

  std::set<std::string> all() const {
    std::set<std::string> names;
    alignas(inotify_event) char events[4096];
    for (ssize_t bytes = 0; (bytes = read(fd_, events, sizeof events)) > 0;) {
      for (ssize_t at = 0; at < bytes;) {
        const auto* event = reinterpret_cast<const inotify_event*>(events + at);
        names.insert(event->name);
        at += static_cast<ssize_t>(sizeof *event + event->len);
      }
    }
    return names;
  }

 private:
  int fd_;
};

// Another process that fails meanwhile says nothing, and ends the one that is writing.
TEST(SayFailure, LeavesAFileThatIsCompleteWhenItIsThere) {
  const test::TemporaryDirectory directory;
  Request request;
  request.output = directory.path();
  request.compiled = true;
  const std::filesystem::path programs = programsIn(request.output);
  std::filesystem::create_directories(programs);
  const ChangedNames changed(programs);
  EXPECT_FALSE(failureSaid(request.output));
  sayFailure(request, "rank 1: no room");
  sayFailure(request, "rank 2: no room either");
  EXPECT_EQ(failureSaid(request.output), "rank 1: no room");
  EXPECT_EQ(changed.all(), std::set<std::string>{"failure." + std::to_string(launchedAs().rank)});
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(programs)) {
    left.insert(entry.path().filename());
  }
  EXPECT_EQ(left, std::set<std::string>{"failure"});
}

}  // namespace
}  // namespace omnio::replay
