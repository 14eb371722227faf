// The variables by which launchers tell a process its rank: read by the tracer in the ranks, and by
// `omnio trace` where it is started as one.
#pragma once

namespace omnio::wire {

struct LauncherVariables {
  const char* rank;
  const char* ranks;       // of the job
  const char* job;         // its name, the same for all ranks
  const char* local_rank;  // rank on its node
  // What else tells runs of one name apart, where it is set.
  const char* job_parts[2] = {nullptr, nullptr};
};

// Slurm's are set in a batch script too, where there is no step; only a step has ranks.
inline constexpr LauncherVariables kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE",
     "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "PMI_JOBID", "MV2_COMM_WORLD_LOCAL_RANK"},
    {"PALS_RANKID", "PALS_SIZE", "PALS_APID", "PALS_LOCAL_RANKID"},
    {"PMI_RANK", "PMI_SIZE", "PMI_JOBID", "MPI_LOCALRANKID"},
    {"SLURM_PROCID",
     "SLURM_STEP_NUM_TASKS",
     "SLURM_JOB_ID",
     "SLURM_LOCALID",
     {"SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
};

}  // namespace omnio::wire
