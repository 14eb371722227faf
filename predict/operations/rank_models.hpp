// What the models of a rank have learnt in a run of an application, for those of the next run to go
// on with (Dorier et al., TPDS 2016, keep the model of a run for the next one).
//
// Processes of the next run go on with those of the same index in the rank, threads with those of
// the same number, and files with the slots of those whose paths, or else names, differ in numbers
// alone. Positions in files are not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "predict/operations/file_slots.hpp"
#include "predict/operations/kept_contexts.hpp"
#include "predict/operations/process_models.hpp"

namespace omnio::predict {

struct RankModels {
  struct Process {
    FileSlots::Kept slots;
    ProcessModels models;
    std::map<std::uint32_t, std::size_t> threads;  // numbers in `models`, by that of the thread

    template <typename Archive>
    void serialize(Archive& archive) {
      archive(slots, models, threads);
      std::set<std::size_t> numbers;
      for (const auto& [thread, number] : threads) {
        archive.require(number < models.threads() && numbers.insert(number).second,
                        "a thread has a model that does not exist, or that of another");
      }
    }
  };
  std::vector<Process> processes;
  std::uint64_t operations = 0;  // that they learnt from
  KeptContexts contexts;
};

// A rank by its number; processes without a rank are -1, -2, ... in their order.
using RankKey = int;

// Where models go on from. Several threads may ask at a time.
class EarlierRun {
 public:
  EarlierRun() = default;
  EarlierRun(const EarlierRun&) = delete;
  EarlierRun& operator=(const EarlierRun&) = delete;
  virtual ~EarlierRun() = default;

  virtual std::string path() const = 0;                // as it was given
  virtual std::set<std::string> programs() const = 0;  // their names, without directories
  virtual bool isWhole() const = 0;                    // whether all was there to learn from
  // nullptr where it has no such rank. Fails where that cannot be read.
  virtual base::Result<std::unique_ptr<RankModels>> of(RankKey rank) const = 0;
};

}  // namespace omnio::predict
