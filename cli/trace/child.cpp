#include "cli/trace/child.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <string>
#include <system_error>

#include "core/base/log.hpp"
#include "core/tracefile/unlogged.hpp"

namespace omnio::cli {
namespace {

constexpr std::array kPassedOn = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM};
constexpr std::array kOfKeyboard = {SIGINT, SIGQUIT};

volatile std::sig_atomic_t child_pid = 0;
volatile std::sig_atomic_t stopped_by = 0;
volatile std::sig_atomic_t is_apart = 0;

void passOn(int signal) {
  const bool stops = signal == SIGTERM || signal == SIGHUP || signal == SIGINT || signal == SIGQUIT;
  if (stops) stopped_by = signal;
  // Launchers ask once more (srun), or pass it on to the ranks (Hydra), where they get SIGINT.
  const int told = stops && is_apart != 0 ? SIGTERM : signal;
  if (child_pid > 0) kill(static_cast<pid_t>(child_pid), told);
}

void leaveGroup(int input) {
  setpgid(0, 0);
  // A child that reads from the terminal or writes to it must not be stopped for that.
  for (const int signal : {SIGTTIN, SIGTTOU}) std::signal(signal, SIG_IGN);
  if (input >= 0) {
    dup2(input, STDIN_FILENO);
    return;
  }
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing < 0) return;
  dup2(nothing, STDIN_FILENO);
  close(nothing);
}

// Whether the process has children, and all of them have ended without its having taken note.
bool hasEndedChildrenAlone(pid_t pid) {
  const std::filesystem::path threads = fmt::format("/proc/{}/task", pid);
  bool has_any = false;
  std::error_code error;
  for (std::filesystem::directory_iterator thread(threads, error), end; !error && thread != end;
       thread.increment(error)) {
    std::ifstream children(thread->path() / "children");  // of this thread alone
    for (pid_t child = 0; children >> child; has_any = true) {
      std::ifstream stat(fmt::format("/proc/{}/stat", child));
      std::string line;
      std::getline(stat, line);
      const std::size_t name_end = line.rfind(')');  // "7 (name) Z ..."
      if (name_end == std::string::npos || line.substr(name_end + 1, 2) != " Z") return false;
    }
  }
  return has_any && !error;
}

// Waits until the command has ended. It stays until its account has been read. Returns whether it
// was ended since it had nothing more to do.
bool waitForEnd(pid_t pid, const ChildSettings& settings) {
  const auto hasEnded = [pid](int options) {
    siginfo_t ended{};
    while (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT | options) < 0 &&
           errno == EINTR) {
    }
    return ended.si_pid == pid;
  };
  if (!settings.is_over) {
    hasEnded(0);
    return false;
  }
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kAfterAsking{10};
  constexpr int kBetweenMs = 500;
  std::optional<Clock::time_point> over_since;
  bool is_asked = false;
  pollfd watched{.fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0U)), .events = POLLIN};
  while (!hasEnded(WNOHANG)) {
    if (!settings.is_over() && !hasEndedChildrenAlone(pid)) {
      over_since.reset();
    } else if (!over_since) {
      over_since = Clock::now();
    }
    const auto over_for = over_since ? Clock::now() - *over_since : Clock::duration{};
    if (over_since && !is_asked && over_for >= settings.patience) {
      base::logWarn("process {} has not ended: sends it SIGTERM", pid);
      kill(pid, SIGTERM);
      is_asked = true;
    }
    if (is_asked && over_for >= settings.patience + kAfterAsking) kill(-pid, SIGKILL);
    poll(&watched, 1, kBetweenMs);  // where the kernel has no such descriptor, a pause
  }
  if (watched.fd >= 0) close(watched.fd);
  return is_asked;
}

// SIGKILL is not passed on. This is of the thread that forks, which is the one that waits.
void endWithParent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
}

}  // namespace

int ChildEnd::exitCode() const {
  if (start_error == ENOENT || start_error == ENOTDIR) return 127;
  if (start_error != 0) return 126;
  return signal != 0 ? 128 + signal : status;
}

void endBySignal(int signal) {
  std::fflush(nullptr);
  constexpr rlimit kNoCore{.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &kNoCore);
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
}

ChildEnd runChild(const std::vector<std::string>& command, const ChildSettings& settings) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  ChildEnd end;
  // Tells why exec failed. Memory and no pipe, which would need descriptors that a small limit has
  // not got.
  void* const shared =
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    end.start_error = errno;
    return end;
  }
  auto& start_error = *new (shared) std::atomic<int>(0);
  // Blocked until the child's number is known, so that none is lost in between.
  sigset_t passed_on;
  sigset_t before;
  sigemptyset(&passed_on);
  std::vector<int> signals(kPassedOn.begin(), kPassedOn.end());
  if (settings.apart) {
    signals.insert(signals.end(), kOfKeyboard.begin(), kOfKeyboard.end());
  }
  if (settings.also_pass_on != 0) signals.push_back(settings.also_pass_on);
  for (const int signal : signals) sigaddset(&passed_on, signal);
  sigprocmask(SIG_BLOCK, &passed_on, &before);
  const pid_t own = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    end.start_error = errno;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    munmap(shared, sizeof(int));
    return end;
  }
  if (pid == 0) {
    if (settings.apart) {
      leaveGroup(settings.input);
      endWithParent(own);
    }
    sigprocmask(SIG_SETMASK, settings.mask == nullptr ? &before : settings.mask, nullptr);
    if (settings.output >= 0) dup2(settings.output, STDOUT_FILENO);
    if (settings.error_output >= 0) dup2(settings.error_output, STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    start_error.store(errno);
    _exit(127);
  }
  child_pid = pid;
  stopped_by = 0;
  is_apart = settings.apart ? 1 : 0;
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  for (const int signal : signals) {
    struct sigaction old {};
    sigaction(signal, nullptr, &old);
    if (old.sa_handler == SIG_IGN) continue;  // nohup: the child ignores it too
    action.sa_handler = passOn;
    sigaction(signal, &action, nullptr);
  }
  action.sa_handler = SIG_IGN;
  for (const int signal : kOfKeyboard) {
    if (!settings.apart) sigaction(signal, &action, nullptr);
  }
  sigprocmask(SIG_SETMASK, settings.mask == nullptr ? &before : settings.mask, nullptr);

  end.was_over = waitForEnd(pid, settings);
  end.pid = pid;
  end.moved = tracefile::kernelBytesOf(static_cast<std::uint32_t>(pid));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  end.start_error = start_error.load();
  munmap(shared, sizeof(int));
  child_pid = 0;
  end.stopped_by = static_cast<int>(stopped_by);
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.status = WEXITSTATUS(status);
  }
  return end;
}

}  // namespace omnio::cli
