// The identity of a run: what tells the rings of one `omnio trace` from those of any other, also of
// one that used the same directory before. `omnio trace` makes it at random and hands it to every
// process in OMNIO_RUN; its directory keeps it in the second line of the file `job`.
//
// A tracer that was preloaded without `omnio trace` derives one from the trace directory (device,
// inode, time of birth), and so does a reader: a directory that was removed and made again is
// another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/wire/checksum.hpp"

namespace omnio::wire {

// Takes a hexadecimal number of at most `most` digits (0-9, a-f) off the front. False when the text
// begins with no digit.
constexpr bool takeHexNumber(std::string_view& text, std::size_t most, std::uint64_t& value) {
  value = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && digits < most; ++digits) {
    const char c = text[digits];
    const bool is_decimal = c >= '0' && c <= '9';
    if (!is_decimal && (c < 'a' || c > 'f')) break;
    value = value << 4 | static_cast<std::uint64_t>(is_decimal ? c - '0' : c - 'a' + 10);
  }
  text.remove_prefix(digits);
  return digits > 0;
}

struct RunId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  bool isSet() const { return high != 0 || low != 0; }
  bool operator==(const RunId&) const = default;
};
inline constexpr std::size_t kRunIdDigits = 32;

// The `omnio trace` that collects what the run's processes leave on its node. `pid` 0: none.
struct Supervisor {
  std::uint32_t pid = 0;
  std::uint32_t pad = 0;
  std::uint64_t start = 0;  // as in /proc/<pid>/stat, clock ticks since boot
  std::uint64_t boot = 0;   // checksum of the kernel's boot id: on other nodes its pid says nothing

  bool operator==(const Supervisor&) const = default;
};

// "<run id, 32 hex digits>.<pid>.<start>.<boot>", the numbers in hexadecimal.
inline constexpr const char* kRunVariable = "OMNIO_RUN";

struct Run {
  RunId id;
  Supervisor supervisor;
};

// Takes exactly 32 digits off the front; false, and fewer are taken, where there are not as many.
constexpr bool takeRunId(std::string_view& text, RunId& id) {
  constexpr std::size_t kHalf = kRunIdDigits / 2;
  const std::size_t before = text.size();
  return takeHexNumber(text, kHalf, id.high) && takeHexNumber(text, kHalf, id.low) &&
         before - text.size() == kRunIdDigits;
}

// The value of OMNIO_RUN; a run whose id is not set when it means nothing.
constexpr Run parseRun(std::string_view text) {
  Run run;
  std::uint64_t pid = 0;
  if (!takeRunId(text, run.id)) return {};
  const auto next = [&text](std::uint64_t& value) {
    if (text.empty() || text.front() != '.') return false;
    text.remove_prefix(1);
    return takeHexNumber(text, 16, value);
  };
  if (text.empty()) return run;
  if (!next(pid) || !next(run.supervisor.start) || !next(run.supervisor.boot) || !text.empty()) {
    return {};
  }
  run.supervisor.pid = static_cast<std::uint32_t>(pid);
  return run;
}

// Makes an identity where no `omnio trace` made one. `birth_ns` is 0 on file systems
// that do not keep it.
inline RunId derivedRun(std::uint64_t device, std::uint64_t inode, std::uint64_t birth_ns) {
  const std::uint64_t facts[] = {device, inode, birth_ns};
  const std::uint64_t sum = checksum(facts, sizeof facts);
  const std::uint64_t again[] = {sum, birth_ns, inode, device};
  return {.high = sum, .low = checksum(again, sizeof again) | 1};
}

// The variables by which launchers tell a process its rank: read by the tracer in the ranks, and by
// `omnio trace` where it is started as one.
struct LauncherVariables {
  const char* rank;
  const char* ranks;       // of the job
  const char* job;         // its name, the same for all ranks
  const char* local_rank;  // rank on its node
  // Variables that tell runs of one name apart, where they are set.
  const char* job_parts[2] = {nullptr, nullptr};
  // False of launchers that may give a job no name, or that of a job around it. Others may not hand
  // on a variable of ours to all nodes, and then the ranks would differ in it.
  bool names_jobs = true;
};

// Tells jobs apart whose launcher gives them no name, as MPICH's mpiexec does, or hands on that of
// a job around it: the tracer sets it inside the launcher, whose ranks inherit it. It follows the
// name.
inline constexpr const char* kJobVariable = "OMNIO_JOB";

// Slurm's are set in a batch script too, outside of any step; only a step has ranks.
inline constexpr LauncherVariables kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE",
     "OMPI_COMM_WORLD_LOCAL_RANK"},
    {.rank = "MV2_COMM_WORLD_RANK",
     .ranks = "MV2_COMM_WORLD_SIZE",
     .job = "PMI_JOBID",
     .local_rank = "MV2_COMM_WORLD_LOCAL_RANK",
     .names_jobs = false},
    {"PALS_RANKID", "PALS_SIZE", "PALS_APID", "PALS_LOCAL_RANKID"},
    {.rank = "PMI_RANK",
     .ranks = "PMI_SIZE",
     .job = "PMI_JOBID",
     .local_rank = "MPI_LOCALRANKID",
     .names_jobs = false},
    {"SLURM_PROCID",
     "SLURM_STEP_NUM_TASKS",
     "SLURM_JOB_ID",
     "SLURM_LOCALID",
     {"SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
};

}  // namespace omnio::wire
