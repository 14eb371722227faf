#include "cli/trace/child.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <new>

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

  // It stays until its account has been read.
  siginfo_t ended{};
  while (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
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
