// The identity of this process and its threads. The four libraries differ in what is linked behind
// these functions: identity_plain.cpp or identity_openmp.cpp.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/wire/run.hpp"

namespace omnio::trace {

// The name of this one of the four libraries: identity_*.cpp, compiled for each, has it.
extern const char kLibraryName[];

// The OpenMP number of the calling thread, or -1 where there is none or it is not looked for.
int openmpThread();
// The name of the OpenMP library of this image, or nullptr.
const char* openmpLibrary();

// MPI's facts about this process, once it was asked (by the wrapper of MPI_Init).
struct MpiIdentity {
  std::atomic<bool> known{false};  // rank and ranks are valid when it is true
  int rank = -1;
  int ranks = 0;
  const char* library = nullptr;  // file name of the MPI library
  const char* refused = nullptr;  // file name of one whose binary interface is not known
};
extern MpiIdentity mpi_identity;

struct LauncherIdentity {
  int rank = 0;
  int ranks = 1;
  const char* source = "none";  // the variable that told the rank
  char job[256] = {};           // its name and, of a Slurm step, the step's
  bool first_on_node = true;
};
// Reads what the launcher's environment says of this process.
LauncherIdentity readLauncher();
// The same as it was when the tracer started, since an application may change or clear its
// environment; a forked child has its parent's.
void rememberLauncher();
const LauncherIdentity& launcherIdentity();
// A number that the processes of one job share, and other jobs do not: made of its name, or of the
// run's where the launcher names none. A process without a launcher has a number of its own.
std::uint64_t jobNumber();

// The node's name as uname(2) has it; empty when it is not known.
inline constexpr std::size_t kHostBytes = 65;
void hostName(char (&into)[kHostBytes]);

// File name of a loaded library whose name begins with `prefix`, or nullptr. The view is good for
// the life of the process.
const char* loadedLibrary(const char* prefix);
// The same of an MPI library: Open MPI's and MPICH's own name, or that of a distribution or vendor
// (libmpich.so, libmpi_cray.so).
const char* loadedMpiLibrary();

// All facts about this process as info-chunk pairs, at most `bytes`; returns how many were used.
std::size_t describeProcess(char* out, std::size_t bytes, bool with_mounts);
// The facts that change while it runs: MPI tells the rank, a library is loaded late.
std::size_t describeIdentity(char* out, std::size_t bytes);
// Whether the image has loaded MPI or OpenMP since it was last described.
bool hasFlavourChanged();

// The run that this process belongs to, as its rings say it (core/wire/run.hpp).
struct RunIdentity {
  wire::Run run;
  std::uint64_t directory_device = 0;  // of the trace directory; 0 and 0: it cannot be seen
  std::uint64_t directory_inode = 0;
  std::uint64_t pid_namespace = 0;  // inode of this process's; 0: not known
};

// Finds it out from the environment and the trace directory, when the tracer starts.
void identifyRun();
const RunIdentity& runIdentity();

}  // namespace omnio::trace
