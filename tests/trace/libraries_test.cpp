// The preloaded libraries as files: what they put in the way of, and what they need.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/calls/table.hpp"
#include "tests/trace/elf_file.hpp"

namespace omnio::test {
namespace {

// Wrapped to see the beginning and the end of a process; these calls are never recorded.
const std::set<std::string> kLifeCycle = {
    "_exit", "_Exit", "quick_exit", "abort", "execve", "execv", "execvp", "execvpe", "execl",
    "execlp", "execle", "fexecve", "execveat", "vfork", "__vfork", "daemon",
    // After these the trace directory may be out of reach.
    "chroot", "setuid", "setreuid", "setresuid",
    // These could punish the tracer's calls or end its clock; it looks before they take effect.
    "prctl", "syscall",
    // The log helper is gone before them.
    "seteuid", "setgid", "setegid", "setregid", "setresgid", "setgroups", "unshare", "setns",
    // Programs that they start may be out of the tracer's reach.
    "posix_spawn", "posix_spawnp", "system", "popen",
    // One of several tracers in a process records (trace/runtime/process.cpp).
    "omnio_traced_process",
    // The order of processes follows from them.
    "fork", "wait", "waitpid", "waitid", "wait3", "wait4", "pthread_create", "pthread_join",
    "pthread_tryjoin_np", "pthread_timedjoin_np", "pthread_clockjoin_np",
    // By this an application stops and starts recording.
    "posix_madvise",
    // Addresses in call stacks may mean something else after it.
    "dlclose",
    // These may leave a record that a signal handler has interrupted.
    "longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"};
// Teams of OpenMP.
const std::set<std::string> kTeams = {"GOMP_parallel",
                                      "GOMP_parallel_reductions",
                                      "GOMP_parallel_sections",
                                      "GOMP_parallel_loop_static",
                                      "GOMP_parallel_loop_dynamic",
                                      "GOMP_parallel_loop_guided",
                                      "GOMP_parallel_loop_nonmonotonic_dynamic",
                                      "GOMP_parallel_loop_nonmonotonic_guided",
                                      "GOMP_parallel_loop_runtime",
                                      "GOMP_parallel_loop_nonmonotonic_runtime",
                                      "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
                                      "GOMP_barrier",
                                      "GOMP_loop_end",
                                      "GOMP_sections_end"};
// They have events of other names.
const std::set<std::string> kParted = {"aio_error",
                                       "aio_error64",
                                       "aio_return",
                                       "aio_return64",
                                       "aio_suspend",
                                       "aio_suspend64",
                                       "lio_listio",
                                       "lio_listio64",
                                       "ioctl",
                                       "io_setup",
                                       "io_destroy",
                                       "io_submit",
                                       "io_getevents",
                                       "io_pgetevents",
                                       "io_uring_queue_init",
                                       "io_uring_queue_init_params",
                                       "io_uring_queue_init_mem"};
// PMIx_Spawn starts the processes of MPI_Comm_spawn.
const std::set<std::string> kMpiLifeCycle = {"MPI_Abort", "PMPI_Abort", "PMIx_Spawn"};

// Remembered for the calls that start what they make.
constexpr const char* kMpiPersistent[] = {"Send_init", "Bsend_init", "Rsend_init", "Ssend_init",
                                          "Recv_init"};
#define OMNIO_UNRECORDED(NAME, COUNT) #NAME,
constexpr const char* kMpiUnrecorded[] = {
#include "trace/wrap/mpi/unrecorded.def"
};
#undef OMNIO_UNRECORDED

struct Library {
  std::filesystem::path path;
  bool has_mpi = false;
  bool has_openmp = false;
};

// Without it the test's name would hold the object's bytes, which differ at each run.
void PrintTo(const Library& library, std::ostream* out) { *out << library.path.filename(); }

std::vector<Library> libraries() {
  std::vector<Library> all;
  std::istringstream list(OMNIO_TEST_LIBRARIES);
  for (std::string path; std::getline(list, path, ':');) {
    const bool is_hybrid = path.find("_hybrid.") != std::string::npos;
    all.push_back({path, is_hybrid || path.find("_mpi.") != std::string::npos,
                   is_hybrid || path.find("_openmp.") != std::string::npos});
  }
  return all;
}

class Libraries : public testing::TestWithParam<Library> {
 protected:
  const ElfFile elf_ = readElf(GetParam().path);
};

std::set<std::string> without(const std::set<std::string>& all, const std::set<std::string>& some) {
  std::set<std::string> rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(),
                      std::inserter(rest, rest.end()));
  return rest;
}

std::set<std::string> wanted(const Library& library) {
  std::set<std::string> names = kLifeCycle;
  names.insert(kParted.begin(), kParted.end());
  if (library.has_openmp) names.insert(kTeams.begin(), kTeams.end());
  if (library.has_mpi) {
    names.insert(kMpiLifeCycle.begin(), kMpiLifeCycle.end());
    const auto both = [&names](const char* name) {
      names.insert({std::string("MPI_") + name, std::string("PMPI_") + name});
    };
    std::ranges::for_each(kMpiPersistent, both);
    std::ranges::for_each(kMpiUnrecorded, both);
  }
  for (const calls::Row& row : calls::kTable) {
    if (row.number != 0 && (library.has_mpi || row.api != calls::Api::kMpi) &&
        calls::isSymbol(row)) {
      names.emplace(row.name);
    }
  }
  return names;
}

TEST_P(Libraries, ExportTheTableOfCallsAndNothingElse) {
  EXPECT_EQ(without(wanted(GetParam()), elf_.defined), std::set<std::string>());
  EXPECT_EQ(without(elf_.defined, wanted(GetParam())), std::set<std::string>());
}

TEST_P(Libraries, NeedTheCLibraryAlone) {
  std::set<std::string> needed = elf_.needed;
  for (const char* usual :
       {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libdl.so.2"}) {
    needed.erase(usual);
  }
  EXPECT_EQ(needed, std::set<std::string>());
}

// "GLIBC_2.17" is {2, 17}.
std::pair<int, int> numbersOf(const std::string& version) {
  std::pair<int, int> numbers{0, 0};
  char dot = 0;
  std::istringstream text(version.substr(version.find('_') + 1));
  text >> numbers.first >> dot >> numbers.second;
  return numbers;
}

// A cluster's nodes are older than the machine that omnio is built on.
TEST_P(Libraries, LoadWithAnOldCLibrary) {
  ASSERT_FALSE(elf_.versions.empty());
  for (const std::string& version : elf_.versions) {
    EXPECT_TRUE(version.starts_with("GLIBC_2.")) << version;
    EXPECT_LE(numbersOf(version), std::make_pair(2, 28)) << version;
  }
}

TEST_P(Libraries, TakeNothingFromTheCxxLibraryNorFromMpi) {
  for (const std::string& name : elf_.undefined) {
    EXPECT_FALSE(name.starts_with("_Z")) << name;
    EXPECT_FALSE(name.starts_with("__cxa_") && name != "__cxa_finalize") << name;
    EXPECT_FALSE(name.starts_with("MPI_") || name.starts_with("PMPI_")) << name;
    EXPECT_FALSE(name.starts_with("ompi_") || name.starts_with("omp_")) << name;
  }
}

// An application's allocator may be in the middle of something when a handler records, and its
// locks may be held for ever in a child.
TEST_P(Libraries, NeitherAllocateNorLockNorFormat) {
  for (const char* name : {"malloc",
                           "calloc",
                           "realloc",
                           "reallocarray",
                           "free",
                           "aligned_alloc",
                           "posix_memalign",
                           "pthread_mutex_lock",
                           "pthread_mutex_unlock",
                           "pthread_rwlock_rdlock",
                           "pthread_once",
                           "sem_wait",
                           "pthread_cond_wait",
                           "snprintf",
                           "sprintf",
                           "vsnprintf",
                           "__snprintf_chk",
                           "__vsnprintf_chk",
                           "strerror",
                           "setlocale",
                           "syslog",
                           "pthread_create"}) {
    EXPECT_FALSE(elf_.undefined.contains(name)) << name;
  }
}

// A call of the tracer's own through a name that it exports would be recorded, or never end.
TEST_P(Libraries, AreFoundUnderEachName) {
  void* library = dlopen(GetParam().path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const std::string& name : wanted(GetParam())) {
    void* symbol = dlsym(library, name.c_str());
    ASSERT_NE(symbol, nullptr) << name;
    Dl_info info{};
    ASSERT_NE(dladdr(symbol, &info), 0) << name;
    // The library's own, and not one that it depends on.
    EXPECT_EQ(std::filesystem::weakly_canonical(info.dli_fname),
              std::filesystem::weakly_canonical(GetParam().path))
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Libraries, testing::ValuesIn(libraries()), [](const auto& test) {
  const std::string stem = test.param.path.stem().native();
  return stem.substr(stem.rfind('_') + 1);
});

}  // namespace
}  // namespace omnio::test
