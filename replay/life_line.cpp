#include "replay/life_line.hpp"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "core/base/threads.hpp"
#include "replay/issue/libc.hpp"

namespace omnio::replay {
namespace {

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

// Past the tracer, and past handlers of exit: other threads may be anywhere in MPI.
[[noreturn]] void end() {
  for (;;) raw::systemCall(SYS_exit_group, 1);
}

class Watch {
 public:
  explicit Watch(Starters starters)
      : parent_(starters.parent ? getppid() : 0), has_line_(starters.life_line) {
    // It is closed on exec, as each such descriptor is.
    if (parent_ > 0) parent_fd_ = static_cast<int>(raw::systemCall(SYS_pidfd_open, parent_, 0U));
  }

  // For as long as there is something to watch.
  void run() {
    while (parent_ > 0 || has_line_) {
      if (parent_ > 0 && getppid() != parent_) end();
      pollfd watched[] = {{.fd = parent_fd_, .events = POLLIN, .revents = 0},
                          {.fd = has_line_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}};
      // Kernels before 5.3 have no descriptors of processes: then the parent is asked for.
      constexpr int kLookMs = 1000;
      const bool is_told = parent_ == 0 || parent_fd_ >= 0;
      const long ready = raw::systemCall(SYS_poll, watched, 2UL, is_told ? -1 : kLookMs);
      if (ready < 0 && errno != EINTR) return;
      if (ready > 0 && watched[0].revents != 0) end();
      if (ready > 0 && watched[1].revents != 0) readLine();
    }
  }

 private:
  void readLine() {
    char part[kLifeLineGreeting.size()];
    const long bytes = raw::systemCall(SYS_read, STDIN_FILENO, part, sizeof part);
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) return;
    const bool is_greeted = greeted_ == kLifeLineGreeting.size();
    if (bytes <= 0 && is_greeted) end();
    // Whatever comes behind the greeting is of no meaning.
    if (bytes > 0 && is_greeted) return;
    has_line_ = bytes > 0 && kLifeLineGreeting.substr(greeted_).starts_with(
                                 std::string_view(part, static_cast<std::size_t>(bytes)));
    if (has_line_) greeted_ += static_cast<std::size_t>(bytes);
  }

  const pid_t parent_;
  bool has_line_;
  int parent_fd_ = -1;
  std::size_t greeted_ = 0;  // bytes of the greeting that have come
};

void* watch(void* argument) {
  static_cast<Watch*>(argument)->run();
  return nullptr;
}

}  // namespace

void endWithStarters(Starters starters) {
  if (!starters.parent && !starters.life_line) return;
  // The thread has it until the process ends.
  static Watch watched(starters);
  constexpr std::size_t kStackBytes = std::size_t{64} << 10;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  const base::SignalsBlocked blocked;
  pthread_create(&thread, &attributes, watch, &watched);
  pthread_attr_destroy(&attributes);
}

}  // namespace omnio::replay
