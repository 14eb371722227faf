// The cases of one thread, and the choice among all: hard_cases NAME DIRECTORY
#include "tests/trace/hard_cases.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace hard_cases {
namespace {

// Two paths, or a path and a mode, in one event.
int twoTexts(const std::string& directory) {
  for (int i = 0; i < 1000; ++i) {
    const std::string from = directory + "/from" + std::to_string(i);
    const std::string to = directory + "/to" + std::to_string(i);
    FILE* file = fopen(from.c_str(), "w");
    if (file == nullptr || fclose(file) != 0 || rename(from.c_str(), to.c_str()) != 0) return 1;
  }
  return 0;
}

// Many calls have a reason to fail that comes before they look at the path.
int badPointers(const std::string& directory) {
  // At the end of a page behind which there is none, without a NUL; and no memory at all.
  const long page = sysconf(_SC_PAGESIZE);
  char* pages =
      static_cast<char*>(mmap(nullptr, static_cast<size_t>(2 * page), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (pages == MAP_FAILED || munmap(pages + page, static_cast<size_t>(page)) != 0) return 1;
  memset(pages, 'x', static_cast<size_t>(page));
  const char* const end = pages + page;
  for (const char* bad :
       {reinterpret_cast<const char*>(1), end, end - 3, reinterpret_cast<const char*>(-4096L)}) {
    struct stat facts;
    const std::string good = directory + "/none";
    if (access(bad, 0xFF) == 0 || truncate(bad, -1) == 0 || unlinkat(AT_FDCWD, bad, 0xFFFF) == 0 ||
        renameat2(AT_FDCWD, bad, AT_FDCWD, bad, 0xFFFF) == 0 ||
        renameat2(AT_FDCWD, good.c_str(), AT_FDCWD, bad, 0xFFFF) == 0 ||
        linkat(AT_FDCWD, good.c_str(), AT_FDCWD, bad, 0xFFFF) == 0 ||
        fstatat(AT_FDCWD, bad, &facts, 0xFFFF) == 0 || fopen(bad, "q") != nullptr ||
        rename(good.c_str(), bad) == 0 || open(bad, O_RDONLY) >= 0) {
      return 1;
    }
  }
  return 0;
}

// The C library opens and closes the descriptors of opendir and popen inside.
int directoryNumbersUsedAgain(const std::string& directory) {
  FILE* pipe = popen("true", "r");
  if (pipe == nullptr || fgetc(pipe) != EOF || pclose(pipe) != 0) return 1;
  for (const char* name : {"one", "two"}) {
    const std::string below = directory + "/" + name;
    mkdir(below.c_str(), 0755);
    DIR* stream = opendir(below.c_str());
    const int fd = openat(dirfd(stream), name, O_CREAT | O_RDWR, 0644);
    if (fd < 0 || close(fd) != 0 || closedir(stream) != 0) return 1;
  }
  return 0;
}

// The parent ends inside daemon(), by an _exit that is not seen; standard descriptors change.
int becomeDaemon(const std::string& directory) {
  const int fd = openFile(directory + "/file");
  const int out = openFile(directory + "/out");
  dup2(out, 1);
  if (write(fd, "parent", 6) != 6 || write(1, "out", 3) != 3 || daemon(0, 0) != 0) return 1;
  if (write(fd, "child", 5) != 5 || write(1, "nowhere", 7) != 7) return 1;
  const std::string relative = directory.substr(1) + "/relative";
  const int other = openFile(relative);
  if (other < 0 || write(other, "x", 1) != 1) return 1;
  openFile(directory + "/done");
  return 0;
}

int openDescriptors() {
  int open_descriptors = 0;
  for (int fd = 0; fd < 1100; ++fd) open_descriptors += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return open_descriptors;
}

// The child of a vfork has descriptors of its own, but its parent's memory.
int vforkOverAllDescriptors(const std::string& directory) {
  const int fd = openFile(directory + "/file");
  const int before = openDescriptors();
  for (int i = 0; i < 20; ++i) {
    if (write(fd, "x", 1) != 1) return 1;
    const pid_t child = vfork();
    if (child == 0) {
      for (int k = 3; k < 1100; ++k) dup2(fd, k);
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  // More than a ring holds: the tracer has to write in between.
  for (int i = 0; i < 100000; ++i) lseek(fd, i, SEEK_SET);
  return openDescriptors() == before ? 0 : 1;
}

// The text of a link is not a path of the application's: it is kept as it is.
int links(const std::string& directory) {
  const int at = open(directory.c_str(), O_RDONLY | O_DIRECTORY);
  const bool made = at >= 0 && symlink("../some/where", (directory + "/one").c_str()) == 0 &&
                    symlinkat("/else/../where", at, "two") == 0;
  const char* bad = reinterpret_cast<const char*>(1);
  const bool refused = symlink(bad, (directory + "/three").c_str()) != 0 &&
                       symlink("", (directory + "/four").c_str()) != 0;
  return made && refused ? 0 : 1;
}

// A rank's children that record nothing are no ranks.
int silentChildren(const std::string& directory) {
  if (openFile(directory + "/file") < 0) return 1;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
  }
  return 0;
}

int clearEnvironment(const std::string& directory) {
  clearenv();
  return openFile(directory + "/file") >= 0 ? 0 : 1;
}

constexpr Case kCases[] = {
    {"two_texts", twoTexts},
    {"bad_pointers", badPointers},
    {"directory_numbers", directoryNumbersUsedAgain},
    {"daemon", becomeDaemon},
    {"vfork", vforkOverAllDescriptors},
    {"links", links},
    {"silent_children", silentChildren},
    {"clearenv", clearEnvironment},
    {"exit_while_threads_record", exitWhileThreadsRecord},
    {"execs_that_fail", execsThatFail},
    {"fork_in_handler", forkInHandler},
    {"signals_at_first_event", signalsAtFirstEvent},
    {"fork_while_loader_is_locked", forkWhileLoaderIsLocked},
    {"late_threads", lateThreads},
    {"memory_runs_out", memoryRunsOut},
};

}  // namespace
}  // namespace hard_cases

int main(int argc, char** argv) {
  using hard_cases::kCases;
  if (argc != 3) return fprintf(stderr, "usage: hard_cases NAME DIRECTORY\n"), 2;
  const auto* chosen = std::find_if(std::begin(kCases), std::end(kCases), [&](const auto& one) {
    return argv[1] == std::string(one.name);
  });
  if (chosen == std::end(kCases)) return fprintf(stderr, "%s: no such case\n", argv[1]), 2;
  return chosen->run(argv[2]);
}
