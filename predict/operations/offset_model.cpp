#include "predict/operations/offset_model.hpp"

namespace omnio::predict {

void FilePlace::open(event::FileId opened) {
  if (opened != file) *this = {.file = opened, .used = used};
  end = 0;
}

void FilePlace::transfer(event::FileId used_file, std::int64_t at, std::int64_t moved) {
  file = used_file;
  offset = at;
  bytes = moved;
  end = continued_end = at + moved;
}

std::int64_t OffsetModel::said(const Others& others, std::size_t way, const FilePlace& place) {
  switch (way) {
    case kRelative:
      return place.end + others.gaps.next().value_or(0);
    case kAbsolute:
      return others.offsets.next().value_or(place.end);
    case kContinued:
      return place.continued_end;
    case kConsecutive:
      return place.end;
    default: {
      const std::size_t lag = way - kStride + 1;
      return others.count < 2 * lag ? place.end : 2 * others.ago(lag) - others.ago(2 * lag);
    }
  }
}

void OffsetModel::take(const FilePlace& place, std::int64_t offset) {
  if (others_ == nullptr) {
    if (is_first_ || offset == place.end) {
      if (!is_first_) ++consecutive_;
      is_first_ = false;
      return;
    }
    others_ = std::make_unique<Others>();
    others_->gaps.takeFirst(0, consecutive_);
  }
  Others& others = *others_;
  std::array<float, kWays> errors{};
  for (std::size_t way = 0; way < kWays; ++way) {
    errors[way] = said(others, way, place) == offset ? 0 : 1;
  }
  others.contest.take(errors);
  others.gaps.take(offset - place.end);
  others.offsets.take(offset);
  others.before[others.count++ % others.before.size()] = offset;
}

std::size_t OffsetModel::symbolCount() const {
  const std::size_t way = best();
  if (way == kRelative) return others_->gaps.symbolCount();
  return way == kAbsolute ? others_->offsets.symbolCount() : 0;
}

std::size_t OffsetModel::memoryBytes() const {
  if (others_ == nullptr) return 0;
  return sizeof(Others) + others_->gaps.memoryBytes() + others_->offsets.memoryBytes();
}

void OffsetModel::halve() {
  if (others_ == nullptr) return;
  others_->gaps.halve();
  others_->offsets.halve();
}

OffsetModel::Ahead::Ahead(const OffsetModel& model) : model_(model), way_(model.best()) {
  if (way_ == kRelative) numbers_ = model.others_->gaps.ahead();
  if (way_ == kAbsolute) numbers_ = model.others_->offsets.ahead();
}

std::int64_t OffsetModel::Ahead::next(const FilePlace& place) {
  switch (way_) {
    case kRelative:
      return place.end + numbers_.next().value_or(0);
    case kAbsolute:
      return numbers_.next().value_or(place.end);
    case kConsecutive:
      return place.end;
    case kContinued:
      return place.continued_end;
    default: {
      const Others& others = *model_.others_;
      const std::size_t lag = way_ - kStride + 1;
      if (others.count < 2 * lag) return place.end;
      const std::size_t turn = count_ % lag;
      const auto turns = static_cast<std::int64_t>(count_ / lag + 1);
      ++count_;
      const std::int64_t last = others.ago(lag - turn);
      return last + turns * (last - others.ago(2 * lag - turn));
    }
  }
}

}  // namespace omnio::predict
