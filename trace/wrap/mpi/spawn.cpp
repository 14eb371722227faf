// Processes that MPI_Comm_spawn starts. The launcher makes their environment of its own, which has
// no tracer in it where each rank was started under `omnio trace`; to that it adds what the library
// asks for. Libraries that start processes through PMIx (Open MPI, MPICH where it is built so) ask
// by PMIx_Spawn: the tracer's variables are added there.
#include <errno.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "core/wire/prefetch.hpp"
#include "core/wire/run.hpp"
#include "core/wire/settings.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/library_call.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

// pmix_app_t of pmix_common.h, since version 2 of PMIx.
struct PmixApp {
  char* command;
  char** arguments;
  char** variables;
  char* directory;
  int processes;
  void* info;
  std::size_t info_count;
};
constexpr std::size_t kMostVariables = 16;

bool isSet(char* const* variables, const char* definition) {
  const std::size_t name = strcspn(definition, "=") + 1;
  for (; variables != nullptr && *variables != nullptr; ++variables) {
    if (strncmp(*variables, definition, name) == 0) return true;
  }
  return false;
}

std::size_t countOf(char* const* variables) {
  std::size_t count = 0;
  while (variables != nullptr && variables[count] != nullptr) ++count;
  return count;
}

// This process's definitions of the tracer's variables, as its environment has them.
struct Definitions {
  char* list[kMostVariables];
  std::size_t count = 0;
};
Definitions definitionsOfTracer() {
  Definitions found;
  const auto add = [&found](const char* name) {
    const std::size_t bytes = strlen(name);
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
      const bool is_it = strncmp(*variable, name, bytes) == 0 && (*variable)[bytes] == '=';
      if (is_it && found.count < kMostVariables) found.list[found.count++] = *variable;
    }
  };
  add("LD_PRELOAD");
  add(wire::kDirectoryVariable);
  add(wire::kRunVariable);
  add(wire::kPrefetchVariable);
  for (const wire::Setting& setting : wire::kSettings) {
    if (setting.reaches_processes) add(setting.variable);
  }
  return found;
}

constexpr std::string_view kLaunchers[] = {"mpirun",        "mpirun.openmpi",  "mpirun.mpich",
                                           "mpiexec",       "mpiexec.openmpi", "mpiexec.mpich",
                                           "mpiexec.hydra", "hydra_pmi_proxy", "orterun",
                                           "orted",         "prterun",         "prted",
                                           "prte",          "slurmstepd",      "palsd"};

// Whether an `omnio trace` of its own started this rank, and not one that started the launcher:
// that launcher's processes have the variables already, with the libraries that are preloaded for
// them.
bool isTracedAlone() {
  auto pid = static_cast<std::uint64_t>(rawSyscall(SYS_getppid));
  constexpr int kMostAncestors = 16;
  for (int i = 0; i < kMostAncestors && pid > 1; ++i) {
    char path[64];
    char stat[256];
    Text(path, sizeof path).put("/proc/").putNumber(pid).put("/stat");
    const long bytes = readFile(path, stat, sizeof stat);
    const std::string_view text(stat, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    // "12 (name) S 11 ..."; the name may hold anything.
    const std::size_t open = text.find('(');
    const std::size_t close = text.rfind(')');
    constexpr std::size_t kToParent = 4;
    if (open >= close || close + kToParent >= text.size()) return true;
    // No substr(), which may throw: that would take in the C++ library.
    const std::string_view name(text.data() + open + 1, close - open - 1);
    if (name == "omnio") return true;
    for (const std::string_view launcher : kLaunchers) {
      if (name == launcher) return false;
    }
    std::string_view parent = text;
    parent.remove_prefix(close + kToParent);
    parent.remove_suffix(parent.size() - std::min(parent.find(' '), parent.size()));
    pid = wire::parseDigits(parent).value_or(0);
  }
  return true;
}

// Makes the call with the variables added to those of each program; what a program has already
// stays.
template <typename Call>
long spawnTraced(Call call, const PmixApp* apps, std::size_t count) {
  const Definitions own = isActive() && isTracedAlone() ? definitionsOfTracer() : Definitions{};
  if (own.count == 0 || apps == nullptr || count == 0) return call(apps);
  std::size_t room = 0;
  for (std::size_t i = 0; i < count; ++i) room += countOf(apps[i].variables) + own.count + 1;
  const Scratch<PmixApp, 4> changed(count);
  const Scratch<char*, 64> variables(room);
  if (!changed || !variables) return call(apps);
  char** at = variables.data();
  for (std::size_t i = 0; i < count; ++i) {
    changed[i] = apps[i];
    const std::size_t before = countOf(apps[i].variables);
    char** const begin = at;
    for (std::size_t n = 0; n < before; ++n) *at++ = apps[i].variables[n];
    for (std::size_t n = 0; n < own.count; ++n) {
      if (!isSet(apps[i].variables, own.list[n])) *at++ = own.list[n];
    }
    *at++ = nullptr;
    changed[i].variables = begin;
  }
  return call(changed.data());
}

constexpr const char* kPmix = "libpmix.so.2";

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_OF_LIBRARY(PMIx_Spawn, kPmix,
                 spawnTraced(
                     [=](const PmixApp* apps) {
                       return real(a, b, reinterpret_cast<long>(apps), d, e, f);
                     },
                     reinterpret_cast<const PmixApp*>(c), static_cast<std::size_t>(d)))
