#include "predict/operations/offset_model.hpp"

#include <algorithm>

namespace omnio::predict {
namespace {

// What finds no room in a hole goes to the end of the file.
std::int64_t beginOf(const Holes::Hole* hole, const FilePlace& place) {
  return hole == nullptr ? place.highest_end : hole->begin;
}

}  // namespace

std::int64_t OffsetModel::saidByPlace(std::size_t way, const Known& known) {
  const FilePlace& place = known.place;
  switch (way) {
    case kContinued:
      return place.continued_end;
    case kPrevious:
      return place.previous_end;
    case kSameDistance:
      return place.end + known.distance;
    case kSameOffset:
      return place.offset;
    case kHighest:
      return place.highest_end;
    case kNextHole:
      return beginOf(place.holes.first(place.end, known.bytes), place);
    case kEndOfNextHole: {
      const Holes::Hole* const hole = place.holes.first(place.end, known.bytes);
      return hole == nullptr ? place.highest_end : hole->end - known.bytes;
    }
    case kLowestHole:
      return beginOf(place.holes.first(0, known.bytes), place);
    case kTightestHole:
      return beginOf(place.holes.tightest(known.bytes), place);
    default:
      return place.end;
  }
}

std::int64_t OffsetModel::said(std::size_t way, const Known& known) const {
  const std::int64_t end = known.place.end;
  if (others_ == nullptr) {
    // What it was the first time, as long as it did not go on.
    if (way == kRelative) return end + (consecutive_ > 0 ? 0 : first_distance_);
    if (way == kAbsolute && count_ > 0) return consecutive_ > 0 ? end : first_offset_;
    return saidByPlace(way, known);
  }
  const Others& others = *others_;
  if (way == kRelative) return end + others.gaps.next().value_or(0);
  if (way == kAbsolute) return others.offsets.next().value_or(end);
  if (way == kEitherEnd) {
    const bool from_begin = others.ends[sizeIndex(known.bytes)] > 0;
    return saidByPlace(from_begin ? kNextHole : kEndOfNextHole, known);
  }
  if (way == kRepeated) {
    return others.repeated == nullptr ? end : end + others.repeated->next().value_or(0);
  }
  if (way < kStride) return saidByPlace(way, known);
  const std::size_t lag = way - kStride + 1;
  return others.count < 2 * lag ? end : 2 * others.ago(lag) - others.ago(2 * lag);
}

void OffsetModel::Prior::take(const Known& known, std::int64_t offset) {
  Errors errors{};
  for (std::size_t way = 0; way < kWays; ++way) {
    errors[way] = saidByPlace(way, known) == offset ? 0 : 1;
  }
  contest_.take(errors);
}

std::int64_t OffsetModel::Prior::next(const Known& known) const {
  return saidByPlace(contest_.best(), known);
}

void OffsetModel::takeEnd(const Errors& errors, const Known& known) {
  if (errors[kNextHole] == errors[kEndOfNextHole]) return;
  constexpr int kMost = 3;
  std::int8_t& side = others_->ends[sizeIndex(known.bytes)];
  const int change = errors[kNextHole] == 0 ? 1 : -1;
  side = static_cast<std::int8_t>(std::clamp(side + change, -kMost, kMost));
}

void OffsetModel::takeRepeated(std::int64_t distance, std::int64_t bytes, bool was_wrong) {
  Others& others = *others_;
  others.wrong = RepeatedSequence::kWrongKept * others.wrong + (was_wrong ? 1 : 0);
  if (others.is_repeated_useless) return;
  if (others.repeated == nullptr) {
    if (others.wrong < RepeatedSequence::kMuchIsWrong) return;
    others.repeated = std::make_unique<RepeatedSequence>();
  }
  others.repeated->take(distance, base::mixed(static_cast<std::uint64_t>(distance),
                                              static_cast<std::uint64_t>(bytes)));
  if (others.repeated->isUseless()) {
    others.repeated.reset();
    others.is_repeated_useless = true;
  }
}

void OffsetModel::take(const Known& known, std::int64_t offset, std::int64_t bytes, Prior& young) {
  const std::int64_t distance = offset - known.place.end;
  const bool is_first = count_ == 0;
  if (is_first) {
    first_offset_ = offset;
    first_distance_ = distance;
    ++count_;
    return;
  }
  const bool is_young = count_++ < kYoung;
  const bool has_others = others_ != nullptr || distance != 0;
  Errors errors{};
  if (has_others || is_young) {
    for (std::size_t way = 0; way < kWays; ++way) {
      errors[way] = said(way, known) == offset ? 0 : 1;
    }
  }
  if (is_young) young.contest_.take(errors);
  if (!has_others) {
    ++consecutive_;
    return;
  }
  if (others_ == nullptr) {
    others_ = std::make_unique<Others>();
    if (consecutive_ == 0) {
      others_->gaps.take(first_distance_);
      others_->offsets.take(first_offset_);
      others_->before[others_->count++] = first_offset_;
    } else {
      others_->gaps.takeFirst(0, consecutive_);
    }
  }
  Others& others = *others_;
  const bool was_wrong = errors[others.contest.best()] > 0;
  others.contest.take(errors);
  others.gaps.take(distance);
  others.offsets.take(offset);
  takeEnd(errors, known);
  takeRepeated(distance, bytes, was_wrong);
  others.before[others.count++ % others.before.size()] = offset;
}

std::size_t OffsetModel::symbolCount() const {
  if (others_ == nullptr) return 0;
  const std::size_t way = others_->contest.best();
  if (way == kRelative) return others_->gaps.symbolCount();
  return way == kAbsolute ? others_->offsets.symbolCount() : 0;
}

std::size_t OffsetModel::memoryBytes() const {
  if (others_ == nullptr) return 0;
  const RepeatedSequence* const repeated = others_->repeated.get();
  return sizeof(Others) + others_->gaps.memoryBytes() + others_->offsets.memoryBytes() +
         (repeated == nullptr ? 0 : sizeof(*repeated) + repeated->memoryBytes());
}

void OffsetModel::halve() {
  if (others_ == nullptr) return;
  dropRepeated();
  others_->gaps.halve();
  others_->offsets.halve();
}

void OffsetModel::compact() {
  if (others_ == nullptr) return;
  others_->gaps.compact();
  others_->offsets.compact();
}

bool OffsetModel::dropRepeated() {
  if (others_ == nullptr || others_->repeated == nullptr) return false;
  if (others_->contest.best() == kRepeated) return false;
  others_->repeated.reset();
  others_->is_repeated_useless = true;
  return true;
}

OffsetModel::Ahead::Ahead(const OffsetModel& model, const Prior& young)
    : model_(model), way_(model.best(young)) {
  if (model.others_ == nullptr) return;
  if (way_ == kRelative) numbers_ = model.others_->gaps.ahead();
  if (way_ == kAbsolute) numbers_ = model.others_->offsets.ahead();
  if (way_ == kRepeated && model.others_->repeated != nullptr) {
    repeated_ = RepeatedSequence::Ahead(*model.others_->repeated);
  }
}

std::int64_t OffsetModel::Ahead::next(const Known& known) {
  const std::int64_t end = known.place.end;
  if (model_.others_ == nullptr) return model_.said(way_, known);
  if (way_ == kRelative) return end + numbers_.next().value_or(0);
  if (way_ == kAbsolute) return numbers_.next().value_or(end);
  if (way_ == kRepeated) return end + repeated_.next().value_or(0);
  if (way_ < kStride) return model_.said(way_, known);
  const Others& others = *model_.others_;
  const std::size_t lag = way_ - kStride + 1;
  if (others.count < 2 * lag) return end;
  const std::size_t turn = count_ % lag;
  const std::uint64_t turns = count_ / lag + 1;
  ++count_;
  const std::int64_t last = others.ago(lag - turn);
  // Far ahead it may be beyond all numbers.
  return base::wrappedSum(last, base::wrappedProduct(last - others.ago(2 * lag - turn), turns));
}

}  // namespace omnio::predict
