// A file system that is as slow as wanted: it shows a backing directory, and delays each request.
// options.cpp has the options.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>

#include "tests/support/slowfs/file_system.hpp"

namespace {

using slowfs::Options;

int complain(const std::string& problem) {
  std::fprintf(stderr, "slowfs: %s\n", problem.c_str());
  return 1;
}

// A reader of the file finds one whole document at any time.
void print(const slowfs::Counts& counts, const std::string& path) {
  const std::string text = counts.json() + '\n';
  if (path.empty()) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
    return;
  }
  const std::string unfinished = path + ".unfinished";
  std::FILE* const file = std::fopen(unfinished.c_str(), "w");
  const bool written = file != nullptr && std::fputs(text.c_str(), file) >= 0;
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (!written || !closed || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    complain(path + ": " + std::strerror(errno));
  }
}

// Prints the counts on each SIGUSR1, on a thread of its own. The signal has to be blocked before.
class Printer {
 public:
  Printer(const slowfs::Counts& counts, const std::string& path)
      : thread_([this, &counts, path] {
          // The signals that end the session have to interrupt the thread that waits for its end.
          sigset_t signals;
          sigfillset(&signals);
          pthread_sigmask(SIG_BLOCK, &signals, nullptr);
          sigemptyset(&signals);
          sigaddset(&signals, SIGUSR1);
          for (int received; sigwait(&signals, &received) == 0 && !ending_;) print(counts, path);
        }) {}
  ~Printer() {
    ending_ = true;
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }

 private:
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

bool obey(slowfs::Gate& gate, const std::string& command) {
  const std::size_t space = command.find(' ');
  const std::string verb = command.substr(0, space);
  const std::string word = space == std::string::npos ? "" : command.substr(space + 1);
  if (verb == "hold") {
    const auto held = slowfs::classNamed(word);
    if (!held) return false;
    gate.hold(*held);
  } else if (verb == "let") {
    gate.let(std::strtoull(word.c_str(), nullptr, 10));
  } else if (verb == "go") {
    gate.open();
  } else if (verb != "held") {
    return false;
  }
  return true;
}

// On a thread that ends with the process: it waits for a line.
void takeCommands(slowfs::Gate& gate) {
  for (std::string line; std::getline(std::cin, line);) {
    if (!obey(gate, line)) complain("'" + line + "' is not a command; --help lists them");
    std::puts(gate.json().c_str());
    std::fflush(stdout);
  }
  gate.open();
}

// Each file that the kernel knows needs a descriptor.
void allowManyFiles() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void blockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

int serveUntilUnmounted(fuse_session* session, const Options& options) {
  if (fuse_set_signal_handlers(session) != 0) return complain("cannot set signal handlers");
  if (fuse_session_mount(session, options.mount_point.c_str()) != 0) {
    return complain("cannot mount on " + options.mount_point);
  }
  fuse_loop_config* const loop = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(loop, options.threads);
  // A thread that ends when it is idle would have to be started again for the next burst.
  fuse_loop_cfg_set_idle_threads(loop, options.threads);
  const int result = fuse_session_loop_mt(session, loop);
  fuse_loop_cfg_destroy(loop);
  fuse_session_unmount(session);
  fuse_remove_signal_handlers(session);
  return result < 0 ? complain(std::string("the session ended: ") + std::strerror(-result)) : 0;
}

int run(const Options& options) {
  slowfs::Descriptor root(open(options.backing.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return complain(options.backing + ": " + std::strerror(errno));
  allowManyFiles();
  prctl(PR_SET_TIMERSLACK, 1UL);
  if (!slowfs::prepareToActForCallers()) {
    return complain(std::string("cannot act for other users: ") + std::strerror(errno));
  }
  if (options.real_time) {
    // Threads inherit the scheduling of the thread that starts them.
    const sched_param lowest = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_RR, &lowest) != 0) {
      return complain(std::string("--real-time: ") + std::strerror(errno));
    }
  }
  blockSignals();

  std::string mount_options = "fsname=slowfs,subtype=slowfs";
  if (options.check_permissions) mount_options += ",default_permissions";
  if (geteuid() == 0) mount_options += ",allow_other,suid,dev";
  std::string words[] = {"slowfs", "-o", mount_options};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  fuse_args args = FUSE_ARGS_INIT(3, arguments);

  slowfs::Counts counts;
  // The thread that takes commands outlives all but the process.
  static slowfs::Gate gate;
  slowfs::FileSystem system(options, std::move(root), counts, gate);
  fuse_session* const session =
      fuse_session_new(&args, &slowfs::operations(), sizeof(fuse_lowlevel_ops), &system);
  if (session == nullptr) return complain("cannot make a FUSE session");
  int status = 0;
  {
    const Printer printer(counts, options.counts_file);
    if (options.control) {
      std::thread([] {
        // As of Printer: the signals that end the session are not for this thread.
        sigset_t signals;
        sigfillset(&signals);
        pthread_sigmask(SIG_BLOCK, &signals, nullptr);
        takeCommands(gate);
      }).detach();
    }
    status = serveUntilUnmounted(session, options);
  }
  fuse_session_destroy(session);
  fuse_opt_free_args(&args);
  print(counts, options.counts_file);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::string problem;
  switch (slowfs::parse(argc, argv, options, problem)) {
    case slowfs::Parsed::Help:
      std::fputs(slowfs::kUsage, stdout);
      return 0;
    case slowfs::Parsed::Wrong:
      complain(problem);
      return 2;
    case slowfs::Parsed::Run:
      break;
  }
  return run(options);
}
