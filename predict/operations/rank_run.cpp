#include "predict/operations/rank_run.hpp"

#include <algorithm>
#include <utility>

namespace omnio::predict {

RankRun::RankRun(const std::vector<const tracefile::Process*>& processes,
                 std::optional<unsigned> thread)
    : reader_(processes, thread, paths_),
      model_of_(reader_.logs(), kNone),
      predictors_(processes.size()) {}

void RankRun::goOnWith(RankModels& earlier) {
  const std::size_t count = std::min(predictors_.size(), earlier.processes.size());
  for (std::size_t i = 0; i < count; ++i) {
    RankModels::Process& process = earlier.processes[i];
    reader_.goOnWith(i, process.slots);
    predictors_[i].goOnWith(std::move(process.models), std::move(process.threads));
  }
}

const Operation* RankRun::next() {
  const Operation* const operation = reader_.next();
  if (operation == nullptr) return nullptr;
  ++operations_;
  // The reader has looked past the last operation by now.
  const std::size_t last = std::exchange(log_, reader_.log());
  if (last != log_ && model_of_[last] != kNone && reader_.isAtEnd(last)) {
    model_of_[last] = kNone;
    predictors_[reader_.processOf(last)].end(reader_.threadOf(last));
  }
  if (model_of_[log_] == kNone) {
    ++threads_;
    model_of_[log_] = predictors_[process()].modelOf(reader_.threadOf(log_));
  }
  return operation;
}

RankModels RankRun::finish() {
  RankModels kept;
  kept.operations = operations_;
  for (std::size_t i = 0; i < predictors_.size(); ++i) {
    kept.processes.push_back({.slots = reader_.slotsOf(i).kept(),
                              .models = predictors_[i].finish(),
                              .threads = predictors_[i].known()});
  }
  return kept;
}

}  // namespace omnio::predict
