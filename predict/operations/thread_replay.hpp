// Replays the operations of one thread through its predictors, each of which sees only the past,
// and scores what they said.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "predict/operations/baselines.hpp"
#include "predict/operations/followed_contexts.hpp"
#include "predict/operations/operation.hpp"
#include "predict/operations/predictor.hpp"
#include "predict/operations/process_models.hpp"
#include "predict/operations/read_ahead.hpp"
#include "predict/operations/score.hpp"
#include "predict/operations/score_timeline.hpp"
#include "predict/operations/update_times.hpp"

namespace omnio::predict {

using Scores = std::array<Score, kWays>;  // by Way

class ThreadReplay {
 public:
  // Predicts up to so many operations ahead, at most kMostAhead, by the model of that number among
  // those of the process, which outlive this object.
  ThreadReplay(std::size_t ahead, ProcessModels& models, std::size_t number);

  // Takes the next operation. The scores of this one alone hold until the next call.
  const Scores& take(const Operation& operation);

  const Learning& learning() const { return learning_; }
  std::uint64_t operations() const { return operations_; }
  const ReadAhead& readAhead() const { return read_ahead_; }
  // Of the model, measured now and then.
  const UpdateTimes& updateTimes() const { return update_times_; }
  std::size_t mostSymbols() const { return most_symbols_; }
  std::size_t symbols() const { return symbols_; }  // of the grammar, after the last operation
  // How many contexts of the last ScoreTimeline::kWindow operations were right; nothing before
  // there are as many.
  std::optional<unsigned> rightOfWindow() const;
  // The finding of the last operation about contexts that were predicted some operations earlier.
  const std::optional<FollowedContexts::Finding>& followed() const { return followed_; }

  void setTakeFound(Patterns::TakeFound take) { patterns_.setTakeFound(std::move(take)); }
  // At the end of the run: ends what is under way.
  void finish();
  ProcessModels::Grammar grammar() const { return models_.grammarOf(number_); }

 private:
  // What was said of operations that have not come yet: by the number of the operation, modulo the
  // places, and by how many operations before it.
  struct Tracked {
    const Predictor* predictor = nullptr;
    std::vector<std::vector<Path>> said;
    std::vector<Predicted> next;  // with weights
  };

  void predict(Tracked& tracked);
  void score(const Tracked& tracked, const Operation& operation, Score& score) const;
  void scoreReadAhead(const Operation& operation, Score& score);
  void update(OperationModel& model, const Operation& operation);
  void followContexts(const OperationModel& model, const Operation& operation);

  std::size_t ahead_;
  ProcessModels& models_;
  std::size_t number_;  // of the thread, among these
  Repeat same_as_last_{Way::kSameAsLast};
  Repeat contiguous_{Way::kContiguous};
  Repeat same_distance_{Way::kSameDistance};
  Patterns patterns_;
  ReadAhead read_ahead_;
  std::array<Tracked, 5> tracked_;  // by Way, up to the read-ahead
  Scores scores_;
  Learning learning_;
  std::optional<Operation> last_;
  std::uint64_t operations_ = 0;
  UpdateTimes update_times_;
  std::size_t most_symbols_ = 0;
  std::size_t symbols_ = 0;
  FollowedContexts following_;
  std::optional<FollowedContexts::Finding> followed_;
  std::uint32_t right_ = 0;  // a bit for each of the last operations, the last one lowest
};

}  // namespace omnio::predict
