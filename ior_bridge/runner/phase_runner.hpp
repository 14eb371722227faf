// Runs phases of a model by themselves and measures them, as IOR measures its tests: from the first
// open to the last close over all processes, after a barrier (docs/commands/phase-run.md).
#pragma once
#include <mpi.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"
#include "ior_bridge/runner/phase_file.hpp"
#include "ior_bridge/runner/phase_results.hpp"
#include "replay/run/node_storage.hpp"

namespace omnio::ior {

// The processes that run a phase together: what they have to agree on.
class PhaseTeam {
 public:
  // The communicator outlives it.
  explicit PhaseTeam(MPI_Comm communicator);

  MPI_Comm communicator() const { return communicator_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  bool isFirst() const { return rank_ == 0; }
  bool isFirstOnNode() const { return is_first_on_node_; }
  bool onOneNode() const { return on_one_node_; }  // so its clocks are one

  // Collective, each of them.
  void barrier() const;
  // Leaves the processor to others while it waits: processes that have no part in a phase must not
  // slow those that have.
  void patientBarrier() const;
  auto least(auto value) const { return reduced(value, MPI_MIN); }
  auto most(auto value) const { return reduced(value, MPI_MAX); }
  auto sum(auto value) const { return reduced(value, MPI_SUM); }
  std::vector<std::uint64_t> most(std::vector<std::uint64_t> values) const;
  std::string ofFirst(std::string text) const;
  // The failure of the lowest rank that has one, the same for all.
  base::Result<void> agreed(const base::Result<void>& result) const;

 private:
  template <typename T>
  T reduced(T value, MPI_Op operation) const;
  std::string broadcast(std::string text, int from) const;

  MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 1;
  bool on_one_node_ = true;
  bool is_first_on_node_ = true;
};

struct RunnerOptions {
  std::filesystem::path directory;  // fresh, and there; the runner writes nowhere else
  int iterations = 0;               // 0: the usual number
  std::optional<int> phase;         // all when not given
  std::optional<RunApi> api;        // else each phase's own
  bool fsync = true;
  bool cold = true;           // reads: pages of the file are given up before
  bool keep = false;          // files stay when a phase has been run
  bool ignores_room = false;  // goes on where the target seems to have too little
  // Repeats the requests of each phase behind one another in the file, until they move twice the
  // memory of the nodes: what is measured then is the storage.
  bool beyond_cache = false;
};

// Called before each iteration, on every process.
using Progress = std::function<void(const model::Phase&, int iteration)>;

// Metadata phases are left out: what each of their calls needs is in a schedule alone. Collective
// over `world`, whose size is the model's number of processes. `storage`, in which each process
// watches, has the times that were measured. The tests, the
// same on all; or the failure of the lowest rank that has one, the same for all too, with its rank
// in the sentence.
base::Result<std::vector<PhaseTest>> runPhases(const model::PhaseModel& model,
                                               const RunnerOptions& options, const PhaseTeam& world,
                                               replay::NodeStorage& storage,
                                               const Progress& progress);

}  // namespace omnio::ior
