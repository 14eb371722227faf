// A run of a rank, as it is read from a trace: its operations, the model that each is for, and what
// the models know at its end.
//
// Which model a thread has is told by ProcessPredictor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/event/event.hpp"
#include "core/tracefile/process.hpp"
#include "predict/operations/operation_reader.hpp"
#include "predict/operations/process_models.hpp"
#include "predict/operations/process_predictor.hpp"
#include "predict/operations/rank_models.hpp"

namespace omnio::predict {

class RankRun {
 public:
  // The processes of one rank, which outlive this object. With `thread`, that of each process
  // alone.
  RankRun(const std::vector<const tracefile::Process*>& processes, std::optional<unsigned> thread);

  // Goes on with what models learnt in an earlier run, and takes it. Before the first operation.
  void goOnWith(RankModels& earlier);
  // Keeps contexts from now on; they outlive this object.
  void keepContexts(KeptContexts& contexts) { reader_.keepContexts(contexts); }

  // The next operation of any thread, by the time it began; nothing at the end. Its model has not
  // taken it.
  const Operation* next();
  std::size_t process() const { return reader_.processOf(log_); }
  std::size_t model() const { return model_of_[log_]; }  // by number, among those of its process

  ProcessModels& modelsOf(std::size_t process) { return predictors_[process].models(); }
  const FileSlots& slotsOf(std::size_t process) const { return reader_.slotsOf(process); }
  std::string_view path(event::FileId file) const { return paths_.path(file); }
  std::size_t processes() const { return predictors_.size(); }
  std::uint64_t threads() const { return threads_; }        // that had operations
  std::uint64_t operations() const { return operations_; }  // so far
  std::uint64_t undecodable() const { return reader_.undecodable(); }

  // At the end: what is known for the next run, without contexts. Takes the models.
  RankModels finish();

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  event::PathTable paths_;
  OperationReader reader_;
  std::size_t log_ = 0;  // of the last operation
  std::vector<std::size_t>
      model_of_;  // by log; kNone before its first operation, and after its end
  std::vector<ProcessPredictor> predictors_;  // by process
  std::uint64_t threads_ = 0;
  std::uint64_t operations_ = 0;
};

}  // namespace omnio::predict
