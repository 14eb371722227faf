#include "predict/operations/rank_run.hpp"

#include <algorithm>
#include <utility>

namespace omnio::predict {

RankRun::RankRun(const std::vector<const tracefile::Process*>& processes,
                 std::optional<unsigned> thread)
    : reader_(processes, thread, paths_),
      model_of_(reader_.logs(), kNone),
      models_(processes.size()),
      expected_(processes.size()),
      known_(processes.size()),
      idle_(processes.size()) {}

void RankRun::goOnWith(RankModels& earlier) {
  const std::size_t count = std::min(models_.size(), earlier.processes.size());
  for (std::size_t i = 0; i < count; ++i) {
    RankModels::Process& process = earlier.processes[i];
    reader_.goOnWith(i, process.slots);
    models_[i] = std::move(process.models);
    known_[i] = process.threads;
    expected_[i] = std::move(process.threads);
  }
}

const Operation* RankRun::next() {
  const Operation* const operation = reader_.next();
  if (operation == nullptr) return nullptr;
  ++operations_;
  // The reader has looked past the last operation by now.
  const std::size_t last = std::exchange(log_, reader_.log());
  if (last != log_ && model_of_[last] != kNone && reader_.isAtEnd(last)) {
    idle_[reader_.processOf(last)].push_back(std::exchange(model_of_[last], kNone));
  }
  if (model_of_[log_] == kNone) {
    ++threads_;
    model_of_[log_] = begin(log_);
  }
  return operation;
}

std::size_t RankRun::begin(std::size_t log) {
  const std::size_t process = reader_.processOf(log);
  const std::uint32_t thread = reader_.threadOf(log);
  if (const auto known = expected_[process].find(thread); known != expected_[process].end()) {
    const std::size_t number = known->second;
    expected_[process].erase(known);
    return number;
  }
  if (!idle_[process].empty()) {
    const std::size_t number = idle_[process].front();
    idle_[process].pop_front();
    return number;
  }
  const std::size_t number = models_[process].add();
  models_[process].of(number).beginRun();
  known_[process].try_emplace(thread, number);
  return number;
}

RankModels RankRun::finish() {
  RankModels kept;
  kept.operations = operations_;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    models_[i].beginRun();
    kept.processes.push_back({.slots = reader_.slotsOf(i).kept(),
                              .models = std::move(models_[i]),
                              .threads = std::move(known_[i])});
  }
  return kept;
}

}  // namespace omnio::predict
