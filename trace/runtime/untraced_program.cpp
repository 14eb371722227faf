// Programs that are not traced, though they run with the tracer preloaded: what launches the ranks,
// and shells, which carry a rank's environment without being one. The programs they start are
// looked at anew.
#include <string_view>

#include "trace/runtime/process.hpp"

namespace omnio::trace {
namespace {

constexpr std::string_view kUntraced[] = {
    // launchers
    "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "orted", "prterun", "prted", "prte",
    "mpirun.openmpi", "mpiexec.openmpi", "hydra_pmi_proxy", "hydra_bstrap_proxy", "srun", "sbatch",
    "salloc", "slurmstepd", "aprun", "palsd", "jsrun", "flux", "flux-shell", "flux-broker", "ssh",
    "rsh", "qsub", "omnio",
    // shells
    "sh", "bash", "rbash", "dash", "ash", "busybox", "zsh", "zsh5", "ksh", "ksh93", "mksh", "csh",
    "tcsh", "bsd-csh", "fish", "env", "timeout", "nice", "nohup", "stdbuf", "time", "numactl",
    "taskset"};

}  // namespace

bool isUntracedProgram(const char* path) {
  const std::string_view whole = path;
  const std::size_t slash = whole.rfind('/');
  const std::string_view name(path + (slash == std::string_view::npos ? 0 : slash + 1));
  for (const std::string_view untraced : kUntraced) {
    if (name == untraced) return true;
  }
  return false;
}

}  // namespace omnio::trace
