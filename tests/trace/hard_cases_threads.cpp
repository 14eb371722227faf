// The cases in which threads or signals meet.
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/trace/hard_cases.hpp"

namespace hard_cases {
namespace {

void tell(long calls) { dprintf(2, "%ld\n", calls); }

std::string late_directory;
// Runs after the tracer's own end, since the tracer is loaded later and ends first.
struct Late {
  ~Late() {
    if (late_directory.empty()) return;
    for (int i = 0; i < 3; ++i) {
      std::thread([] {
        const int fd = openFile(late_directory + "/late");
        for (int k = 0; k < 5; ++k) lseek(fd, k, SEEK_SET);
        close(fd);
      }).join();
    }
  }
} late;

}  // namespace

// Main returns while four threads are at it: what they did until then is all there, once.
int exitWhileThreadsRecord(const std::string& directory) {
  static std::atomic<int> running{0};
  constexpr int kThreads = 4;
  for (int t = 0; t < kThreads; ++t) {
    std::thread([directory, t] {
      const int fd = openFile(directory + "/file" + std::to_string(t));
      for (long k = 0;; ++k) {
        lseek(fd, k % 100, SEEK_SET);
        if (k == 20000) ++running;
        if (k > 20000) usleep(100);
      }
    }).detach();
  }
  while (running.load() < kThreads) usleep(100);
  return 0;
}

int execsThatFail(const std::string& directory) {
  static std::atomic<bool> stop{false};
  std::atomic<long> calls{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&calls, directory] {
      const int fd = openFile(directory + "/file");
      long k = 0;
      while (!stop.load()) {
        lseek(fd, ++k, SEEK_SET);
        if (k % 1000 == 0) usleep(100);
      }
      calls += k + 1;
    });
  }
  char name[] = "none";
  char* arguments[] = {name, nullptr};
  for (int i = 0; i < 100; ++i) {
    execv("/nonexistent/program", arguments);
    usleep(500);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  tell(calls);
  return 0;
}

namespace {
volatile sig_atomic_t forks = 0;
volatile sig_atomic_t is_child = 0;
volatile sig_atomic_t failures = 0;

// One at a time: the kernel begins a fork anew when a signal comes meanwhile, and where a fork
// takes longer than the time between two signals, it would never be done.
void signalSoon() {
  const itimerval once = {{0, 0}, {0, 1000}};
  setitimer(ITIMER_REAL, &once, nullptr);
}

void forkHere(int) {
  if (is_child != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    is_child = 1;
    return;
  }
  forks = forks + 1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  if (status != 0) failures = failures + 1;
  signalSoon();
}
}  // namespace

// The child returns into the middle of whatever the signal has interrupted.
int forkInHandler(const std::string& directory) {
  const int fd = openFile(directory + "/file");
  signal(SIGALRM, forkHere);
  signalSoon();
  long calls = 1;
  while (is_child == 0 && forks < 200) {
    lseek(fd, calls, SEEK_SET);
    ++calls;
  }
  if (is_child != 0) {
    for (int i = 0; i < 10; ++i) lseek(fd, i, SEEK_SET);
    _exit(0);
  }
  const itimerval none{};
  setitimer(ITIMER_REAL, &none, nullptr);
  tell(calls);
  return failures == 0 ? 0 : 1;
}

namespace {
int handler_file = -1;
std::atomic<long> handled{0};
void recordHere(int) {
  lseek(handler_file, 1, SEEK_SET);
  ++handled;
}
}  // namespace

int signalsAtFirstEvent(const std::string& directory) {
  handler_file = openFile(directory + "/handler");
  struct sigaction action = {};
  action.sa_handler = recordHere;
  sigaction(SIGUSR1, &action, nullptr);
  long calls = 1;
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> state{0};
    std::thread thread([&state, &directory] {
      state = 1;
      const int fd = openFile(directory + "/file");
      for (int k = 0; k < 50; ++k) lseek(fd, k, SEEK_SET);
      close(fd);
      state = 2;
    });
    while (state == 0) {
    }
    while (state == 1) {
      pthread_kill(thread.native_handle(), SIGUSR1);
      usleep(5);  // or it would do nothing else any more
    }
    thread.join();
    calls += 52;
  }
  tell(calls + handled);
  return 0;
}

// The thread that holds the loader's lock is not there in the child.
int forkWhileLoaderIsLocked(const std::string& directory) {
  std::thread([] {
    const auto next = [](dl_phdr_info*, size_t, void*) { return 0; };
    while (true) dl_iterate_phdr(next, nullptr);
  }).detach();
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(240);  // one that hangs is killed
      lseek(openFile(directory + "/file"), 1, SEEK_SET);
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  _exit(0);
}

// Threads that do their first I/O when the process is ending.
int lateThreads(const std::string& directory) {
  late_directory = directory;
  return openFile(directory + "/file") >= 0 ? 0 : 1;
}

namespace {
void* seekOften(void* fd) {
  for (int i = 0; i < 40000; ++i) lseek(*static_cast<int*>(fd), i, SEEK_SET);
  return nullptr;
}
}  // namespace

// When there is memory again, recording goes on.
int memoryRunsOut(const std::string& directory) {
  int fd = openFile(directory + "/file");
  long pages = 0;
  FILE* sizes = fopen("/proc/self/statm", "r");
  if (sizes == nullptr || fscanf(sizes, "%ld", &pages) != 1) return 1;
  fclose(sizes);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + 100000);
  setrlimit(RLIMIT_AS, &limit);
  pthread_t thread;
  const int failed = pthread_create(&thread, &small, seekOften, &fd);
  if (failed == 0) pthread_join(thread, nullptr);
  limit.rlim_cur = before;
  setrlimit(RLIMIT_AS, &limit);
  if (failed != 0 || pthread_create(&thread, &small, seekOften, &fd) != 0) return 1;
  pthread_join(thread, nullptr);
  return 0;
}

}  // namespace hard_cases
