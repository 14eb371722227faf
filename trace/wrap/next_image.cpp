#include "trace/wrap/next_image.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "core/wire/notes.hpp"
#include "core/wire/path_pattern.hpp"
#include "core/wire/program_file.hpp"
#include "core/wire/settings.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/log_parts.hpp"
#include "trace/runtime/settings.hpp"
#include "trace/runtime/sys/forbidden_calls.hpp"
#include "trace/runtime/sys/own_clone.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/resource_limits.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {
namespace {

using wire::UntracedReason;

constexpr std::string_view kLibraryPrefix = "libomnio_";
constexpr std::size_t kPathBytes = 4096;

char trace_directory[wire::kMaxTraceDirectory] = {};  // empty: nothing is traced here
char host[kHostBytes] = {};

const char* valueOf(char* const* variables, std::string_view name) {
  for (char* const* variable = variables; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, name.data(), name.size()) == 0 && (*variable)[name.size()] == '=') {
      return *variable + name.size() + 1;
    }
  }
  return nullptr;
}

// The tracer's library in a value of LD_PRELOAD, copied; false when it is not there.
bool findLibrary(const char* preload, char (&library)[kPathBytes]) {
  std::string_view rest = preload == nullptr ? "" : preload;
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(": ");
    const std::string_view one = rest.substr(0, end);
    if (fileName(one).starts_with(kLibraryPrefix)) {
      Text(library, sizeof library).put(one);
      return true;
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return false;
}

// As execvp searches: the first file of that name that may be executed.
bool searchPath(const char* name, char (&found)[kPathBytes]) {
  const char* value = getenv("PATH");
  std::string_view rest = value == nullptr ? "/bin:/usr/bin" : value;
  while (true) {
    const std::size_t end = rest.find(':');
    const std::string_view folder = rest.substr(0, end);
    Text(found, sizeof found).put(folder.empty() ? "." : folder).putByte('/').put(name);
    if (rawSyscall(SYS_faccessat, AT_FDCWD, address(found), X_OK) == 0) return true;
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 1);
  }
}

// Whether the loader runs the program in its secure mode, in which it preloads nothing that is not
// in a trusted folder.
bool isSecure(long fd) {
  struct stat facts;
  if (rawSyscall(SYS_fstat, fd, address(&facts)) != 0) return false;
  const auto user = static_cast<uid_t>(rawSyscall(SYS_geteuid));
  const auto group = static_cast<gid_t>(rawSyscall(SYS_getegid));
  const bool is_other = ((facts.st_mode & S_ISUID) != 0 && facts.st_uid != user) ||
                        ((facts.st_mode & S_ISGID) != 0 && facts.st_gid != group);
  // With no_new_privs the system ignores these bits. Capabilities of the file it takes away, but
  // the loader is in its secure mode all the same.
  if (is_other && rawSyscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return true;
  char capabilities[64];
  return user != 0 && rawSyscall(SYS_fgetxattr, fd, address("security.capability"),
                                 address(capabilities), sizeof capabilities) > 0;
}

struct Examined {
  UntracedReason reason = UntracedReason::kNone;
  bool wants_asan = false;
};

// Looks at the program, of a script at its interpreter too. Nothing is said of what cannot be
// opened: the kernel will say it.
Examined examine(const ProgramName& program) {
  Examined result;
  wire::ProgramFacts facts;
  for (int depth = 0; depth < 4; ++depth) {
    const long fd = depth > 0 ? rawSyscall(SYS_openat, AT_FDCWD, address(facts.interpreter),
                                           O_RDONLY | O_CLOEXEC | O_NONBLOCK)
                    : program.path == nullptr
                        ? rawSyscall(SYS_fcntl, program.directory, F_DUPFD_CLOEXEC, 0)
                        : rawSyscall(SYS_openat, program.directory, address(program.path),
                                     O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
      // A file that may be executed but not read is not judged.
      return result;
    }
    facts = {};
    const bool is_program = wire::examineProgram(
        [fd](std::uint64_t offset, char* out, std::size_t bytes) -> std::size_t {
          const long got = rawSyscall(SYS_pread64, fd, address(out), static_cast<long>(bytes),
                                      static_cast<long>(offset));
          return got > 0 ? static_cast<std::size_t>(got) : 0;
        },
        facts);
    const bool is_secure = facts.interpreter[0] == '\0' && isSecure(fd);
    rawSyscall(SYS_close, fd);
    if (!is_program) return result;
    if (facts.interpreter[0] != '\0') continue;
    result.wants_asan = facts.wants_asan;
    if (facts.is_static) {
      result.reason = UntracedReason::kStatic;
    } else if (facts.is_other_word) {
      result.reason = UntracedReason::kOtherWord;
    } else if (is_secure) {
      result.reason = UntracedReason::kSetUser;
    }
    return result;
  }
  return result;
}

// The reason for which the environment keeps the tracer out, if it does. Another trace directory is
// another trace: that is wanted so.
UntracedReason reasonOf(char* const* variables) {
  const char* directory = valueOf(variables, wire::kDirectoryVariable);
  char library[kPathBytes];
  if (directory == nullptr || !findLibrary(valueOf(variables, "LD_PRELOAD"), library)) {
    return UntracedReason::kEnvironment;
  }
  // The loader searches its folders for a name without a slash, and replaces $ORIGIN and the like.
  // Only the loader knows whether it finds such a library.
  const bool is_path = std::strchr(library, '/') != nullptr && std::strchr(library, '$') == nullptr;
  if (is_path && rawSyscall(SYS_faccessat, AT_FDCWD, address(library), R_OK) == -ENOENT) {
    return UntracedReason::kNoLibrary;
  }
  return UntracedReason::kNone;
}

long append(const char* suffix, const char* record, std::size_t bytes) {
  char path[sizeof trace_directory + sizeof host + 16];
  Text(path, sizeof path).put(trace_directory).putByte('/').put(host).put(suffix);
  // A limit that a long list could meet is not worth a signal.
  constexpr std::uint64_t kRoomy = 64U << 20;
  if (!withinFileSizeLimit(kRoomy)) return -EFBIG;
  const long fd = rawSyscall(SYS_openat, AT_FDCWD, address(path),
                             O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) {
    const iovec piece = {const_cast<char*>(record), bytes};
    const long left = leavePart(wire::LogPartKind::kNotes, path, &piece, 1, bytes, 0, fd);
    return left < 0 ? left : static_cast<long>(bytes);
  }
  long written = -EFBIG;
  // All processes of the host write to it: one that has a limit may meet it long before it is
  // roomy.
  constexpr std::uint64_t kSpare = 1U << 20;
  struct stat facts;
  if (withinFileSizeLimit(INT64_MAX) ||
      (rawSyscall(SYS_fstat, fd, address(&facts)) == 0 &&
       withinFileSizeLimit(static_cast<std::uint64_t>(facts.st_size) + bytes + kSpare))) {
    written = rawSyscall(SYS_write, fd, address(record), static_cast<long>(bytes));
  }
  rawSyscall(SYS_close, fd);
  return written;
}

}  // namespace

bool isPartOfTrace() {
  return trace_directory[0] != '\0' && process.clock != wire::ClockKind::kNone;
}

long appendToTrace(const char* suffix, const char* record, std::size_t bytes) {
  const auto add = [=]() -> long { return append(suffix, record, bytes); };
  const long written = add();
  return written == -EMFILE && !isVforkChild() ? inOwnTable(add) : written;
}

namespace {

void note(UntracedReason reason, const char* program) {
  char record[kPathBytes + 1];
  Text text(record, sizeof record);
  text.putByte(static_cast<char>(reason));
  if (program[0] != '/') {
    const long bytes = rawSyscall(SYS_getcwd, address(text.end()), static_cast<long>(text.room()));
    if (bytes > 1) text.skip(static_cast<std::size_t>(bytes) - 1).putByte('/');
    while (std::strncmp(program, "./", 2) == 0) program += 2;
  }
  text.put(program);
  const std::size_t bytes = text.size() + 1;  // with its NUL
  const long written = appendToTrace(wire::kUntracedSuffix, record, bytes);
  if (written == static_cast<long>(bytes)) return;
  char path[sizeof trace_directory + sizeof host + 64];
  Text(path, sizeof path)
      .put(trace_directory)
      .putByte('/')
      .put(host)
      .putByte('.')
      .putNumber(static_cast<std::uint64_t>(rawSyscall(SYS_getpid)))
      .putByte('.')
      .putNumber(wire::systemNs(CLOCK_MONOTONIC))
      .put(wire::kUntracedSuffix);
  rawSyscall(SYS_symlinkat, address(record), AT_FDCWD, address(path));
}

}  // namespace

void rememberTrace() {
  if (!isAskedFor()) return;
  Text(trace_directory, sizeof trace_directory).put(getenv(wire::kDirectoryVariable));
  hostName(host);
}

ImageEnvironment::ImageEnvironment(const ProgramName& program, char* const* variables)
    : variables_(variables) {
  while (variables != nullptr && variables[count_] != nullptr) ++count_;
  if (!isPartOfTrace()) return;
  char found[kPathBytes];
  ProgramName real = program;
  if (program.is_searched && std::strchr(program.path, '/') == nullptr) {
    if (!searchPath(program.path, found)) return;
    real = {.path = found};
  }
  const Examined examined = examine(real);
  UntracedReason reason = examined.reason;
  // Shells and launchers are not traced in any case, and what they start on another node gets its
  // environment from the launcher there.
  if (reason == UntracedReason::kNone && (real.path == nullptr || !isUntracedProgram(real.path))) {
    reason = reasonOf(variables);
  }
  if (reason != UntracedReason::kNone) {
    // A file that cannot be executed does not become a child.
    const bool is_there = real.path == nullptr ||
                          rawSyscall(SYS_faccessat, real.directory, address(real.path), X_OK) == 0;
    if (is_there) note(reason, real.path == nullptr ? "(a descriptor)" : real.path);
    return;
  }
  if (examined.wants_asan) {
    const char* before = valueOf(variables, wire::kAsanVariable);
    if (before == nullptr || std::strstr(before, "verify_asan_link_order") == nullptr) {
      Text text(asan_, sizeof asan_);
      text.put(wire::kAsanVariable).putByte('=');
      if (before != nullptr && *before != '\0') text.put(before).putByte(':');
      text.put(wire::kAsanOption);
      if (!text.isFull()) ++additions_;
    }
  }
  char forbidden[kForbiddenText];
  if (putForbidden(forbidden)) {
    Text(forbidden_, sizeof forbidden_).put(kForbiddenVariable).putByte('=').put(forbidden);
    ++additions_;
  }
}

char* const* ImageEnvironment::fill(char** room) const {
  std::size_t used = 0;
  const auto is_replaced = [](const char* variable, const char* by) {
    const std::size_t name = std::strcspn(by, "=") + 1;
    return *by != '\0' && std::strncmp(variable, by, name) == 0;
  };
  for (std::size_t i = 0; i < count_; ++i) {
    if (is_replaced(variables_[i], asan_) || is_replaced(variables_[i], forbidden_)) continue;
    room[used++] = variables_[i];
  }
  for (const char* addition : {asan_, forbidden_}) {
    if (*addition != '\0') room[used++] = const_cast<char*>(addition);
  }
  room[used] = nullptr;
  return room;
}

}  // namespace omnio::trace
