#include "trace/runtime/prefetch_start.hpp"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstring>

#include "core/wire/prefetch.hpp"
#include "core/wire/settings.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/ring_memory.hpp"
#include "trace/runtime/sys/own_clone.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/runtime/sys/waiting.hpp"

namespace omnio::trace {
namespace {

constexpr std::size_t kOneStackBytes = 64 * 1024;
constexpr std::size_t kMostWords = 64;
constexpr std::size_t kMostVariables = 8;

struct Helper {
  long socket = -1;
  char* words[kMostWords + 1] = {};  // of the command line
  char* variables[kMostVariables + 1] = {};
  char* stack = nullptr;  // for the second child; behind it that of the first
};

// Binds the name of the run's helper on this node, which the kernel gives to one process alone and
// takes back when the last who has the socket is gone. -1: another has it, or sockets are not
// allowed here.
long takeName() {
  const long fd = rawSyscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const wire::RunId& run = runIdentity().run.id;
  // Of the abstract ones, which begin with NUL and are in no folder.
  Text text(name.sun_path + 1, sizeof name.sun_path - 1);
  text.put(wire::kPrefetchSocketPrefix)
      .putNumber(static_cast<std::uint64_t>(rawSyscall(SYS_geteuid)))
      .putByte('-')
      .putHex(run.high, 16)
      .putHex(run.low, 16);
  const auto bytes = static_cast<long>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (rawSyscall(SYS_bind, fd, address(&name), bytes) == 0) return fd;
  rawSyscall(SYS_close, fd);
  return -1;
}

// The second child: in place of the application's descriptors it has the socket and nothing else.
long becomeHelper(void* argument) {
  auto& helper = *static_cast<Helper*>(argument);
  constexpr long kFirstOther = wire::kPrefetchSocket + 1;
  const long nothing = rawSyscall(SYS_openat, AT_FDCWD, address("/dev/null"), O_RDWR);
  const long socket = rawSyscall(SYS_fcntl, helper.socket, F_DUPFD, kFirstOther);
  if (nothing < 0 || socket < 0) return 1;
  for (long fd = 0; fd < wire::kPrefetchSocket; ++fd) rawSyscall(SYS_dup3, nothing, fd, 0);
  rawSyscall(SYS_dup3, socket, wire::kPrefetchSocket, 0);
  if (rawSyscall(SYS_close_range, kFirstOther, ~0U, 0) != 0) {
    for (long fd = kFirstOther; fd < 65536; ++fd) rawSyscall(SYS_close, fd);
  }
  rawSyscall(SYS_chdir, address("/"));
  // Signals stay held until the helper lets them through: a handler here would be the
  // application's.
  rawSyscall(SYS_execve, address(helper.words[0]), address(helper.words),
             address(helper.variables));
  return 1;
}

// The first child: with its end no process waits for the second one.
long leave(void* argument) {
  auto& helper = *static_cast<Helper*>(argument);
  rawSyscall(SYS_setsid);
  startClone(CLONE_VM | CLONE_VFORK, helper.stack, kOneStackBytes, becomeHelper, argument);
  return 0;
}

// Takes the value apart: words with a tab between them.
void takeWords(Helper& helper, char* value) {
  std::size_t count = 0;
  while (*value != '\0' && count < kMostWords) {
    helper.words[count++] = value;
    value = strchr(value, '\t');
    if (value == nullptr) return;
    *value++ = '\0';
  }
}

void run(Helper& helper) {
  char* const stacks = static_cast<char*>(mapAnonymous(2 * kOneStackBytes));
  if (stacks == nullptr) return;
  helper.stack = stacks;
  {
    const HeldSignals held;
    const long child =
        startClone(CLONE_VM | CLONE_VFORK, stacks + kOneStackBytes, kOneStackBytes, leave, &helper);
    while (child > 0 && rawSyscall(SYS_wait4, child, 0, __WALL, 0) == -EINTR) {
    }
  }
  unmap(stacks, 2 * kOneStackBytes);
}

char variable_text[3][wire::kMaxTraceDirectory + 64];

}  // namespace

void makePrefetchDirectory() {
  if (getenv(wire::kPrefetchVariable) == nullptr) return;
  rawSyscall(SYS_mkdirat, AT_FDCWD, address(process.settings.directory), 0700);
}

void startPrefetchHelper() {
  const char* given = getenv(wire::kPrefetchVariable);
  if (given == nullptr || *given == '\0') return;
  // One that came over exec or from a parent may punish calls that only this makes.
  if (rawSyscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != 0) return;
  const std::size_t bytes = strlen(given) + 1;
  char* const value = static_cast<char*>(mapAnonymous(bytes));
  if (value == nullptr) return;
  std::memcpy(value, given, bytes);
  Helper helper;
  takeWords(helper, value);
  const char* const run_text = getenv(wire::kRunVariable);
  helper.socket = run_text == nullptr || helper.words[0] == nullptr ? -1 : takeName();
  if (helper.socket >= 0) {
    const char* const ring_place = ringPlace();
    const char* const names[] = {wire::kDirectoryVariable, wire::kRunVariable,
                                 wire::settingOf(wire::SettingId::kRingDirectory).variable};
    const char* const values[] = {process.settings.directory, run_text, ring_place};
    for (std::size_t i = 0; i < 3; ++i) {
      Text(variable_text[i], sizeof variable_text[i]).put(names[i]).putByte('=').put(values[i]);
      helper.variables[i] = variable_text[i];
    }
    run(helper);
    rawSyscall(SYS_close, helper.socket);
  }
  unmap(value, bytes);
}

}  // namespace omnio::trace
