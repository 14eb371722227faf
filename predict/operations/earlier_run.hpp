// What the models of a rank have learnt in an earlier run of the application, for those of a later
// run to go on with (Dorier et al., TPDS 2016, keep the model of a run for the next one).
//
// Processes of the later run go on with those of the same place in the rank, threads with those of
// the same number, and files with the slots of those whose paths, or else names, differ in numbers
// alone. Positions in files are not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/tracefile/process.hpp"
#include "predict/operations/file_slots.hpp"
#include "predict/operations/kept_contexts.hpp"
#include "predict/operations/process_models.hpp"

namespace omnio::predict {

class EarlierRun {
 public:
  struct Process {
    FileSlots::Kept slots;
    ProcessModels models;
    std::map<std::uint32_t, std::size_t> threads;  // numbers in `models`, by that of the thread
  };

  // Reads the operations of these processes, all of one rank, and has models take them. With
  // `thread`, those of that thread of each process alone.
  EarlierRun(const std::vector<const tracefile::Process*>& processes,
             std::optional<unsigned> thread);

  std::vector<Process>& processes() { return processes_; }
  const KeptContexts& contexts() const { return contexts_; }
  std::uint64_t operations() const { return operations_; }

 private:
  std::vector<Process> processes_;
  KeptContexts contexts_;
  std::uint64_t operations_ = 0;
};

}  // namespace omnio::predict
