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

std::int64_t OffsetModel::said(std::size_t way, const FilePlace& place) const {
  switch (way) {
    case kRelative:
      return place.end + gaps_.next().value_or(0);
    case kAbsolute:
      return offsets_.next().value_or(place.end);
    case kContinued:
      return place.continued_end;
    case kConsecutive:
      return place.end;
    default: {
      const std::size_t lag = way - kStride + 1;
      return count_ < 2 * lag ? place.end : 2 * ago(lag) - ago(2 * lag);
    }
  }
}

void OffsetModel::take(const FilePlace& place, std::int64_t offset) {
  std::array<float, kWays> errors{};
  for (std::size_t way = 0; way < kWays; ++way) errors[way] = said(way, place) == offset ? 0 : 1;
  contest_.take(errors);
  gaps_.take(offset - place.end);
  offsets_.take(offset);
  before_[count_++ % before_.size()] = offset;
}

void OffsetModel::giveUp() {
  gaps_.giveUp();
  offsets_.giveUp();
}

OffsetModel::Ahead::Ahead(const OffsetModel& model) : model_(model), way_(model.contest_.best()) {
  if (way_ == kRelative) numbers_ = model.gaps_.ahead();
  if (way_ == kAbsolute) numbers_ = model.offsets_.ahead();
}

std::int64_t OffsetModel::Ahead::next(const FilePlace& place) {
  switch (way_) {
    case kRelative:
      return place.end + numbers_.next().value_or(0);
    case kAbsolute:
      return numbers_.next().value_or(place.end);
    case kConsecutive:
    case kContinued:
      return model_.said(way_, place);
    default: {
      const std::size_t lag = way_ - kStride + 1;
      if (model_.count_ < 2 * lag) return place.end;
      const std::size_t turn = count_ % lag;
      const auto turns = static_cast<std::int64_t>(count_ / lag + 1);
      ++count_;
      const std::int64_t last = model_.ago(lag - turn);
      return last + turns * (last - model_.ago(2 * lag - turn));
    }
  }
}

}  // namespace omnio::predict
