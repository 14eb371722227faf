// The beginning and the ends of a process: what is recorded must be written out before _exit, abort
// or exec take the memory away. (A process that is killed leaves its rings to be collected.)
#include <alloca.h>
#include <grp.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <optional>
#include <type_traits>

#include "core/wire/info.hpp"
#include "trace/runtime/handle_table.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/moved_bytes.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/ring/log_helper.hpp"
#include "trace/runtime/sys/forbidden_calls.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/children.hpp"
#include "trace/wrap/inlined_streams.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/mappings.hpp"
#include "trace/wrap/next_image.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/signature.hpp"

// Headers before glibc 2.34 do not have it.
extern "C" int execveat(int, const char*, char* const*, char* const*, int) noexcept;

namespace omnio::trace {
namespace {

using wire::AccountState;

// Found when the library is loaded: the child of a vfork may not look symbols up.
// clang-format off
#define OMNIO_ENDS(END)                                                                     \
  END(_exit) END(_Exit) END(quick_exit) END(abort) END(daemon) END(system) END(popen)       \
  END(execve) END(execvpe) END(fexecve) END(execveat) END(posix_spawn) END(posix_spawnp)    \
  END(setuid) END(setreuid) END(setresuid) END(seteuid) END(setgid) END(setegid)            \
  END(setregid) END(setresgid) END(setgroups) END(unshare) END(setns) END(chroot) END(vfork)
// clang-format on
struct Ends {
#define OMNIO_END(NAME) decltype(&::NAME) NAME;
  OMNIO_ENDS(OMNIO_END)
#undef OMNIO_END
} ends;

void lookUpEnds() {
  if (ends.vfork != nullptr) return;  // the last one
#define OMNIO_END(NAME) ends.NAME = reinterpret_cast<decltype(&::NAME)>(nextSymbol(#NAME));
  OMNIO_ENDS(OMNIO_END)
#undef OMNIO_END
}

__attribute__((constructor)) void atLoad() {
  lookUpEnds();
  resolveAll();
  ensureStarted();
  rememberTrace();
  beginChildNotes();
}

__attribute__((destructor)) void atEnd() {
  // An interpreter may have loaded MPI or OpenMP long after its first event.
  if (process.mode.load() == Mode::kActive && hasContainer() && hasFlavourChanged()) {
    appendIdentity();
  }
  writeThreadNotes();
  recordMappings();
  noteAllInlined();
  finish(AccountState::kEnded);
  noteQuietEnd();
}

// The next image has the filter too, and may be unable to say anything of itself.
void tellOfRefusedImage(const char* program) {
  if (!refusesLogs() || !isActive() || isVforkChild() || !hasContainer()) return;
  appendFact(wire::info::kRefusedImage, program);
}

// Calls `start` with the variables that the next image gets.
template <typename Start>
[[gnu::always_inline]] inline int withImage(const ProgramName& program, char* const* variables,
                                            Start start) {
  lookUpEnds();
  const ImageEnvironment next(program, variables);
  if (next.isChanged()) {
    variables = next.fill(static_cast<char**>(alloca(sizeof(char*) * next.entries())));
  }
  return start(variables);
}

// exec returns only when it failed; then recording goes on.
template <typename Exec>
int execWith(const ProgramName& program, char* const* variables, Exec exec) {
  return withImage(program, variables, [&](char* const* changed) {
    noteUnseenStart();
    tellOfRefusedImage(program.path == nullptr ? "(a descriptor)" : program.path);
    writeThreadNotes();
    recordMappings();
    noteAllInlined();
    finish(AccountState::kReplaced);
    const int result = exec(changed);
    const int error = errno;
    resume();
    errno = error;
    return result;
  });
}

int execPath(const char* path, char* const* arguments, char* const* variables) {
  return execWith({.path = path}, variables,
                  [=](char* const* changed) { return ends.execve(path, arguments, changed); });
}

int execFile(const char* file, char* const* arguments, char* const* variables) {
  return execWith({.path = file, .is_searched = true}, variables,
                  [=](char* const* changed) { return ends.execvpe(file, arguments, changed); });
}

// Starts a child and notes it, also where the application does not ask for its number.
template <typename Spawn>
int spawnWith(pid_t* pid, Spawn spawn) {
  pid_t own = 0;
  if (pid == nullptr) pid = &own;
  const std::uint64_t begin_ns = noteTime();
  const int result = spawn(pid);
  const int error = errno;
  if (result == 0) {
    noteChild(wire::ChildNote::kFork, static_cast<std::uint32_t>(*pid), begin_ns);
  }
  errno = error;
  return result;
}

constexpr char kShell[] = "/bin/sh";

// The trace directory may be out of reach afterwards: the container is made now, since without it
// no reader could be told of what is lost.
void beforeLeaving() {
  lookUpEnds();
  if (!isActive() || isVforkChild()) return;
  noticeFork();
  openContainer();
  keepDescriptor();
  LogHelper::stop();
}

// Later rings belong to the new user, and readers take rings of those alone who may write the
// trace.
void beforeBecoming(uid_t user) {
  beforeLeaving();
  constexpr auto kUnchanged = static_cast<uid_t>(-1);
  if (user == kUnchanged || !isActive() || isVforkChild() || !hasContainer()) return;
  if (user == static_cast<uid_t>(rawSyscall(SYS_geteuid))) return;
  char key[32];
  appendFact(Text(key, sizeof key).put(wire::info::kOwnerPrefix).putNumber(user).words(), "1");
}

// A call by which the process becomes another user. `real` is set by the look-up.
template <typename Real, typename... A>
int callToBecome(uid_t user, const Real& real, A... a) {
  beforeBecoming(user);
  return real(a...);
}

// A call that a second thread makes fail, or that leaves it as it was: the log helper's is ended.
template <typename Real, typename... A>
int callAlone(const Real& real, A... a) {
  lookUpEnds();
  if (isActive() && !isVforkChild()) LogHelper::stop();
  return real(a...);
}

// The end of the process by a call that does not return.
template <typename Real, typename... A>
[[noreturn]] void endBy(AccountState state, const Real& real, A... a) {
  lookUpEnds();
  writeThreadNotes();
  recordMappings();
  noteAllInlined();
  finish(state);
  noteQuietEnd();
  real(a...);
  __builtin_unreachable();
}

// The arguments of execl and its like, as the array that execv wants; `list` stands behind the
// first one. The array has to live in the caller's frame.
int countArguments(va_list list) {
  int count = 1;
  while (va_arg(list, char*) != nullptr) ++count;
  return count;
}

}  // namespace

// Called from the vfork wrapper just before it jumps to the real one.
extern "C" __attribute__((visibility("hidden"), used)) void* omnioBeforeVfork() {
  lookUpEnds();
  if (process.mode.load(std::memory_order_relaxed) == Mode::kActive) thread.vforked = true;
  return reinterpret_cast<void*>(ends.vfork);
}

}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_EXPORT void _exit(int status) { endBy(AccountState::kEnded, ends._exit, status); }
OMNIO_EXPORT void _Exit(int status) noexcept { endBy(AccountState::kEnded, ends._Exit, status); }
OMNIO_EXPORT void quick_exit(int status) noexcept {
  endBy(AccountState::kEnded, ends.quick_exit, status);
}
OMNIO_EXPORT void abort() noexcept { endBy(AccountState::kAborted, ends.abort); }

// The C library forks, and ends the parent, by functions of its own that never come by here; it
// changes the directory and the standard descriptors in the same way.
OMNIO_EXPORT int daemon(int keep_directory, int keep_streams) noexcept {
  lookUpEnds();
  writeThreadNotes();
  recordMappings();
  finish(AccountState::kEnded);
  const int result = ends.daemon(keep_directory, keep_streams);
  const int error = errno;
  resume();
  if (process.mode.load() == Mode::kActive) {
    workingDirectoryChanged();
    for (int fd = 0; fd <= 2; ++fd) releaseHandle(takeOut(fd));
  }
  errno = error;
  return result;
}

OMNIO_EXPORT int chroot(const char* path) noexcept {
  beforeLeaving();
  return ends.chroot(path);
}
OMNIO_EXPORT int setuid(uid_t user) noexcept { return callToBecome(user, ends.setuid, user); }
OMNIO_EXPORT int seteuid(uid_t user) noexcept { return callToBecome(user, ends.seteuid, user); }
OMNIO_EXPORT int setreuid(uid_t real, uid_t effective) noexcept {
  return callToBecome(effective, ends.setreuid, real, effective);
}
OMNIO_EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  return callToBecome(effective, ends.setresuid, real, effective, saved);
}
OMNIO_EXPORT int setgid(gid_t group) noexcept { return callAlone(ends.setgid, group); }
OMNIO_EXPORT int setegid(gid_t group) noexcept { return callAlone(ends.setegid, group); }
OMNIO_EXPORT int setregid(gid_t real, gid_t effective) noexcept {
  return callAlone(ends.setregid, real, effective);
}
OMNIO_EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
  return callAlone(ends.setresgid, real, effective, saved);
}
OMNIO_EXPORT int setgroups(size_t count, const gid_t* groups) noexcept {
  return callAlone(ends.setgroups, count, groups);
}
OMNIO_EXPORT int unshare(int flags) noexcept {
  // Threads do not matter to CLONE_FS alone.
  lookUpEnds();
  const int result = flags == CLONE_FS ? ends.unshare(flags) : callAlone(ends.unshare, flags);
  // A new user or mount namespace comes with CLONE_FS (unshare(2)).
  constexpr int kOwnDirectory = CLONE_FS | CLONE_NEWNS | CLONE_NEWUSER;
  if (result == 0 && (flags & kOwnDirectory) != 0 && isActive() && !isVforkChild()) {
    workingDirectoryIsOwn();
  }
  if (result == 0 && flags != CLONE_FS && !isVforkChild()) process.has_own_namespaces.store(true);
  return result;
}
OMNIO_EXPORT int setns(int fd, int type) noexcept {
  const int result = callAlone(ends.setns, fd, type);
  if (result == 0 && !isVforkChild()) process.has_own_namespaces.store(true);
  return result;
}

OMNIO_EXPORT int execve(const char* path, char* const* arguments, char* const* variables) noexcept {
  return execPath(path, arguments, variables);
}
OMNIO_EXPORT int execv(const char* path, char* const* arguments) noexcept {
  return execPath(path, arguments, environ);
}
OMNIO_EXPORT int execvp(const char* file, char* const* arguments) noexcept {
  return execFile(file, arguments, environ);
}
OMNIO_EXPORT int execvpe(const char* file, char* const* arguments,
                         char* const* variables) noexcept {
  return execFile(file, arguments, variables);
}
OMNIO_EXPORT int fexecve(int fd, char* const* arguments, char* const* variables) noexcept {
  return execWith({.directory = fd}, variables,
                  [=](char* const* changed) { return ends.fexecve(fd, arguments, changed); });
}
OMNIO_EXPORT int execveat(int dirfd, const char* path, char* const* arguments,
                          char* const* variables, int flags) noexcept {
  const bool is_descriptor = isReadableMemory(path, 1) && *path == '\0';
  return execWith(
      {.path = is_descriptor ? nullptr : path, .directory = dirfd}, variables,
      [=](char* const* changed) { return ends.execveat(dirfd, path, arguments, changed, flags); });
}

OMNIO_EXPORT int posix_spawn(pid_t* pid, const char* path,
                             const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const* arguments,
                             char* const* variables) {
  return withImage({.path = path}, variables, [=](char* const* changed) {
    return spawnWith(pid, [=](pid_t* to) {
      return ends.posix_spawn(to, path, actions, attributes, arguments, changed);
    });
  });
}
OMNIO_EXPORT int posix_spawnp(pid_t* pid, const char* file,
                              const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const* arguments,
                              char* const* variables) {
  return withImage({.path = file, .is_searched = true}, variables, [=](char* const* changed) {
    return spawnWith(pid, [=](pid_t* to) {
      return ends.posix_spawnp(to, file, actions, attributes, arguments, changed);
    });
  });
}

// The C library starts the shell by functions of its own; the shell's environment is this
// process's.
OMNIO_EXPORT int system(const char* command) {
  lookUpEnds();
  if (command == nullptr) return ends.system(command);
  const ImageEnvironment shell({.path = kShell}, environ);
  const std::uint64_t begin_ns = noteTime();
  std::optional<ReapedBytes> reaped;
  if (begin_ns != 0) reaped.emplace();
  const int result = ends.system(command);
  const int error = errno;
  if (result != -1) noteChild(omnio::wire::ChildNote::kRun, 0, begin_ns);
  if (result != -1 && reaped) reaped->takeUncounted();
  errno = error;
  return result;
}
OMNIO_EXPORT FILE* popen(const char* command, const char* type) {
  lookUpEnds();
  const ImageEnvironment shell({.path = kShell}, environ);
  const std::uint64_t begin_ns = noteTime();
  FILE* const result = ends.popen(command, type);
  const int error = errno;
  if (result != nullptr) noteChild(omnio::wire::ChildNote::kFork, 0, begin_ns);
  errno = error;
  return result;
}

// Fills `arguments` (and `variables` where wanted) from the variable arguments behind FIRST.
#define OMNIO_COLLECT(FIRST)                                                            \
  va_list list;                                                                         \
  va_start(list, FIRST);                                                                \
  const int count = countArguments(list);                                               \
  va_end(list);                                                                         \
  auto** const arguments =                                                              \
      static_cast<char**>(alloca(sizeof(char*) * static_cast<std::size_t>(count + 1))); \
  arguments[0] = const_cast<char*>(FIRST);                                              \
  va_start(list, FIRST);                                                                \
  for (int i = 1; i <= count; ++i) arguments[i] = va_arg(list, char*)

OMNIO_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  OMNIO_COLLECT(first);
  va_end(list);
  return execPath(path, arguments, environ);
}
OMNIO_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  OMNIO_COLLECT(first);
  va_end(list);
  return execFile(file, arguments, environ);
}
OMNIO_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  OMNIO_COLLECT(first);
  char* const* const variables = va_arg(list, char* const*);
  va_end(list);
  return execPath(path, arguments, variables);
}

// The child of a vfork runs on the parent's stack, so no frame of ours may be under it: this one
// is gone, by a jump, before the real function is entered.
#if defined(__x86_64__)
asm(".text\n"
    ".globl vfork\n"
    ".type vfork,@function\n"
    "vfork:\n"
    "  endbr64\n"
    "  pushq %rbp\n"
    "  call omnioBeforeVfork\n"
    "  popq %rbp\n"
    "  jmp *%rax\n"
    ".size vfork,.-vfork\n"
    ".globl __vfork\n"
    ".set __vfork,vfork\n");
#elif defined(__aarch64__)
asm(".text\n"
    ".globl vfork\n"
    ".type vfork,%function\n"
    "vfork:\n"
    "  stp x29, x30, [sp, #-16]!\n"
    "  bl omnioBeforeVfork\n"
    "  ldp x29, x30, [sp], #16\n"
    "  br x0\n"
    ".size vfork,.-vfork\n"
    ".globl __vfork\n"
    ".set __vfork,vfork\n");
#endif
