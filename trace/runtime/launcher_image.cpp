
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "core/wire/prefetch.hpp"
#include "core/wire/run.hpp"
#include "core/wire/settings.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {
namespace {

constexpr const char* kListVariable = "OMPI_MCA_mca_base_env_list";
// Calls `action` with the name of each variable that is set and that the ranks need.
template <typename Action>
void forEachVariable(Action action) {
  const auto offer = [&action](const char* name) {
    if (getenv(name) != nullptr) action(name);
  };
  offer("LD_PRELOAD");
  offer(wire::kDirectoryVariable);
  offer(wire::kRunVariable);
  offer(wire::kPrefetchVariable);
  for (const wire::Setting& setting : wire::kSettings) {
    if (setting.reaches_processes) offer(setting.variable);
  }
}
// Marks the second start, so that a third never comes.
constexpr const char* kMark = "OMNIO_LAUNCHER_PREPARED";

constexpr std::string_view kOpenMpiLaunchers[] = {"orterun",        "mpirun",          "mpiexec",
                                                  "mpirun.openmpi", "mpiexec.openmpi", "oshrun"};

// Those that may be of MPICH and its kin. Open MPI's, which some share a name with, does name jobs.
constexpr std::string_view kNamelessLaunchers[] = {
    "mpiexec",      "mpirun",          "mpiexec.hydra", "mpiexec.mpich",
    "mpirun.mpich", "mpiexec.gforker", "mpirun_rsh"};

// Programs that are not traced, though they run with the tracer preloaded: what launches the ranks,
// and shells, which carry a rank's environment without being one. The programs they start are
// looked at anew.
constexpr std::string_view kUntraced[] = {
    // launchers
    "mpirun", "mpiexec", "mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich", "mpiexec.gforker",
    "mpirun_rsh", "mpispawn", "orterun", "orted", "prterun", "prted", "prte", "mpirun.openmpi",
    "mpiexec.openmpi", "hydra_pmi_proxy", "hydra_bstrap_proxy", "srun", "sbatch", "salloc",
    "slurmstepd", "aprun", "palsd", "jsrun", "flux", "flux-shell", "flux-broker", "ssh", "rsh",
    "qsub", "omnio",
    // shells
    "sh", "bash", "rbash", "dash", "ash", "busybox", "zsh", "zsh5", "ksh", "ksh93", "mksh", "csh",
    "tcsh", "bsd-csh", "fish", "env", "timeout", "nice", "nohup", "stdbuf", "time", "numactl",
    "taskset"};

// Of these, those that an application may be called as well. They are meant where programs are
// installed alone.
constexpr std::string_view kCommonWords[] = {"flux", "fish",    "time", "env",
                                             "nice", "timeout", "ash"};

// Whether the directory is one of installed programs: .../bin, .../sbin or .../libexec.
bool isInProgramDirectory(std::string_view path) {
  path.remove_suffix(fileName(path).size());
  if (!path.empty()) path.remove_suffix(1);
  const std::string_view directory = fileName(path);
  return directory == "bin" || directory == "sbin" || directory == "libexec";
}

bool isOneOf(std::span<const std::string_view> names, const char* program) {
  return std::ranges::find(names, fileName(program)) != names.end();
}

// "A;B;C" of those that are set, behind what the user has in the list.
void nameInList() {
  char list[8192];
  Text text(list, sizeof list);
  const char* before = getenv(kListVariable);
  if (before != nullptr && *before != '\0') {
    if (strstr(before, wire::kDirectoryVariable) != nullptr) return;
    text.put(before);
  }
  forEachVariable([&text](const char* name) {
    if (text.size() > 0) text.putByte(';');
    text.put(name);
  });
  // A list that was cut would send nonsense to the ranks: rather none of ours.
  if (!text.isFull()) setenv(kListVariable, list, 1);
}

// Starts the same program with "-x NAME" for each of our variables in front of its arguments.
void startWithOptions(char* arguments, std::size_t bytes) {
  constexpr std::size_t kMost = 65536;
  auto** const list = static_cast<char**>(mapAnonymous(kMost * sizeof(char*)));
  if (list == nullptr) return;
  std::size_t count = 0;
  list[count++] = arguments;
  forEachVariable([list, &count](const char* name) {
    list[count++] = const_cast<char*>("-x");
    list[count++] = const_cast<char*>(name);
  });
  for (char* at = arguments + strlen(arguments) + 1; at < arguments + bytes && count < kMost - 1;
       at += strlen(at) + 1) {
    list[count++] = at;
  }
  list[count] = nullptr;
  setenv(kMark, "1", 1);
  rawSyscall(SYS_execve, address("/proc/self/exe"), address(list), address(environ));
  unsetenv(kMark);
}

// Unlike any other by its process and the time.
void nameJob() {
  timespec now{};
  rawSyscall(SYS_clock_gettime, CLOCK_REALTIME, address(&now));
  char name[64];
  Text text(name, sizeof name);
  text.put("omnio.").putNumber(static_cast<std::uint64_t>(rawSyscall(SYS_getpid)));
  text.putByte('.').putNumber(static_cast<std::uint64_t>(now.tv_sec));
  text.putByte('.').putNumber(static_cast<std::uint64_t>(now.tv_nsec)).putByte('\0');
  setenv(wire::kJobVariable, name, 1);
}

}  // namespace

void prepareLauncher(const char* program) {
  if (getenv(wire::kDirectoryVariable) != nullptr && isOneOf(kNamelessLaunchers, program)) {
    nameJob();
  }
  if (getenv(wire::kDirectoryVariable) == nullptr || !isOneOf(kOpenMpiLaunchers, program)) {
    return;
  }
  if (getenv(kMark) != nullptr) {
    unsetenv(kMark);  // the ranks, and launchers they start, are looked at anew
    return;
  }
  constexpr std::size_t kMostBytes = 2 * 1024 * 1024;  // of arguments, by the kernel's default
  auto* const arguments = static_cast<char*>(mapAnonymous(kMostBytes, MAP_PRIVATE | MAP_NORESERVE));
  if (arguments == nullptr) return;
  const long got = readFile("/proc/self/cmdline", arguments, kMostBytes - 1);
  const auto bytes = static_cast<std::size_t>(got > 0 ? got : 0);
  bool has_x = false;
  for (char* at = arguments; at < arguments + bytes; at += strlen(at) + 1) {
    has_x = has_x || strcmp(at, "-x") == 0 || strcmp(at, "--x") == 0;
  }
  if (has_x) {
    startWithOptions(arguments, bytes);
  } else {
    nameInList();
  }
  unmap(arguments, kMostBytes);
}

bool isUntracedProgram(const char* path) {
  if (!isOneOf(kUntraced, path)) return false;
  return !isOneOf(kCommonWords, path) || isInProgramDirectory(path);
}

}  // namespace omnio::trace
