#include "predict/operations/thread_replay.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

namespace omnio::predict {
namespace {

// Reading the clock takes a tenth of the time of an update.
constexpr std::uint64_t kMeasuredOf = 16;

constexpr std::size_t indexOf(Way way) { return static_cast<std::size_t>(way); }

bool isRight(const Predicted& said, const Operation& operation) {
  if (said.context != operation.context) return false;
  if (!transfers(operation.kind)) return true;
  if (operation.has_size && said.bytes != operation.bytes) return false;
  return !operation.has_offset || said.segment.begin == operation.offset;
}

}  // namespace

ThreadReplay::ThreadReplay(std::size_t ahead, ProcessModels& models, std::size_t number)
    : ahead_(std::clamp<std::size_t>(ahead, 1, kMostAhead)), models_(models), number_(number) {
  tracked_[indexOf(Way::kSameAsLast)].predictor = &same_as_last_;
  tracked_[indexOf(Way::kContiguous)].predictor = &contiguous_;
  tracked_[indexOf(Way::kSameDistance)].predictor = &same_distance_;
  tracked_[indexOf(Way::kPatterns)].predictor = &patterns_;
  for (Tracked& tracked : tracked_) tracked.said.resize(ahead_ + 1);
}

void ThreadReplay::predict(Tracked& tracked) {
  tracked.next = tracked.predictor->next();
  tracked.said[operations_ % tracked.said.size()] =
      ahead_ > 1 ? tracked.predictor->following(ahead_) : std::vector<Path>();
}

// What was said of operation n at distance k was said after n - k operations, as the k-th of those
// to follow.
void ThreadReplay::score(const Tracked& tracked, const Operation& operation, Score& score) const {
  score.operations = 1;
  if (!tracked.next.empty()) {
    const Predicted& first = tracked.next.front();
    score.contexts_right = first.context == operation.context ? 1 : 0;
    score.whole_right = isRight(first, operation) ? 1 : 0;
  }
  if (operation.has_size) {
    const std::optional<std::int64_t> size = tracked.predictor->sizeOf(operation);
    score.sized = 1;
    score.sizes_right = size == operation.bytes ? 1 : 0;
    if (operation.bytes > 0) {
      score.size_errors = 1;
      score.size_error = std::abs(static_cast<double>(size.value_or(0) - operation.bytes)) /
                         static_cast<double>(operation.bytes);
    }
  }
  if (operation.has_offset && operation.bytes > 0) {
    score.placed = 1;
    score.offsets_right = tracked.predictor->offsetOf(operation) == operation.offset ? 1 : 0;
  }
  if (transfers(operation.kind) && !operation.has_offset) return;
  const Segment observed = segmentOf(operation);
  score.hits = 1;
  double sum = 0;
  for (const Predicted& one : tracked.next) sum += one.weight * hitRatio(one.segment, observed);
  score.hit[0] = sum;
  const std::size_t places = tracked.said.size();
  std::size_t level = 1;
  for (std::size_t k = 2; k <= ahead_; ++k) {
    if (k <= operations_) {
      for (const Path& path : tracked.said[(operations_ - k + 1) % places]) {
        if (path.operations.size() < k) continue;
        sum += path.weight * hitRatio(path.operations[k - 1].segment, observed);
      }
    }
    if (!std::has_single_bit(k)) continue;
    const auto made = std::clamp<std::uint64_t>(operations_, 1, k);
    score.hit[level++] = sum / static_cast<double>(made);
  }
}

// It says nothing of operations to come, but has bytes ready: a read whose bytes are all there
// counts as right.
void ThreadReplay::scoreReadAhead(const Operation& operation, Score& score) {
  const std::int64_t covered = read_ahead_.take(operation);
  if (operation.kind != Kind::kRead || !operation.has_offset || operation.bytes == 0) return;
  score.operations = score.placed = score.hits = 1;
  score.offsets_right = covered == operation.bytes ? 1 : 0;
  score.hit[0] = percent(static_cast<double>(covered), static_cast<std::uint64_t>(operation.bytes));
}

void ThreadReplay::update(OperationModel& model, const Operation& operation) {
  using Clock = std::chrono::steady_clock;
  const bool is_measured = operations_ % kMeasuredOf == 0;
  const auto begin = is_measured ? Clock::now() : Clock::time_point();
  model.take(operation);
  if (!is_measured) return;
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
  update_times_.add(static_cast<std::uint64_t>(time.count()));
}

void ThreadReplay::followContexts(const OperationModel& model, const Operation& operation) {
  const std::vector<Predicted>& next = tracked_[indexOf(Way::kGrammar)].next;
  if (const std::size_t wanted = following_.wanted(); wanted > 0) {
    following_.begin(operations_, next.empty() ? std::vector<std::uint64_t>()
                                               : model.contextsFrom(next.front().context, wanted));
  }
  followed_ = following_.take(operation.context);
}

std::optional<unsigned> ThreadReplay::rightOfWindow() const {
  if (operations_ < ScoreTimeline::kWindow) return std::nullopt;
  constexpr std::uint32_t kBits = (1U << ScoreTimeline::kWindow) - 1;
  return static_cast<unsigned>(std::popcount(right_ & kBits));
}

void ThreadReplay::finish() {
  followed_ = following_.end();
  patterns_.finish();
}

const Scores& ThreadReplay::take(const Operation& operation) {
  scores_ = {};
  OperationModel& model = models_.of(number_);
  tracked_[indexOf(Way::kGrammar)].predictor = &model;
  for (std::size_t i = 0; i < tracked_.size(); ++i) {
    // A model may know from an earlier run how this one begins.
    if (operations_ > 0 || i == indexOf(Way::kGrammar)) predict(tracked_[i]);
    score(tracked_[i], operation, scores_[i]);
  }
  scoreReadAhead(operation, scores_[indexOf(Way::kReadAhead)]);
  Score& own = scores_[indexOf(Way::kGrammar)];
  right_ = right_ << 1 | static_cast<std::uint32_t>(own.contexts_right);
  followContexts(model, operation);
  if (last_) {
    if (const std::optional<double> gap = model.gapBefore(operation)) {
      own.gaps = 1;
      own.gap_ns = OperationModel::gapBetween(*last_, operation);
      own.gap_said_ns = *gap;
      own.gap_error_ns = std::abs(*gap - own.gap_ns);
    }
  }
  ++operations_;
  update(model, operation);
  same_as_last_.take(operation);
  contiguous_.take(operation);
  same_distance_.take(operation);
  patterns_.take(operation);
  last_ = operation;
  symbols_ = model.grammar().symbolCount();
  most_symbols_ = std::max(most_symbols_, symbols_);
  learning_.take(operations_, model.symbolCount());
  models_.keepBound(number_);
  return scores_;
}

}  // namespace omnio::predict
