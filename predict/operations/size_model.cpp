#include "predict/operations/size_model.hpp"

#include <algorithm>
#include <cmath>

namespace omnio::predict {

std::int64_t SizeModel::said(std::size_t way) const {
  const auto average = static_cast<std::int64_t>(std::llround(moments_.average()));
  if (way == kAverage) return average;
  if (way == kNumbers) return numbers_.next().value_or(average);
  if (way == kRepeated) {
    return repeated_ == nullptr ? average : repeated_->next().value_or(average);
  }
  const std::size_t transfers = way - kAgo + 1;
  return transfers <= moments_.count() ? ago(transfers) : average;
}

void SizeModel::take(std::int64_t bytes) {
  if (isKnown() && numbers_.hasSeveral()) {
    const auto observed = static_cast<double>(std::max<std::int64_t>(bytes, 1));
    std::array<float, kWays> errors{};
    for (std::size_t way = 0; way < kWays; ++way) {
      const double error = std::abs(static_cast<double>(said(way) - bytes)) / observed;
      errors[way] = static_cast<float>(std::min(error, 1.0));
    }
    wrong_ = RepeatedSequence::kWrongKept * wrong_ + (errors[contest_.best()] > 0 ? 1 : 0);
    contest_.take(errors);
    takeRepeated(bytes);
  }
  numbers_.take(bytes);
  before_[moments_.count() % kMostAgo] = bytes;
  moments_.add(static_cast<double>(bytes));
}

void SizeModel::takeRepeated(std::int64_t bytes) {
  if (is_repeated_useless_) return;
  if (repeated_ == nullptr) {
    if (wrong_ < RepeatedSequence::kMuchIsWrong) return;
    repeated_ = std::make_unique<RepeatedSequence>();
  }
  repeated_->take(bytes, static_cast<std::uint64_t>(bytes));
  if (repeated_->isUseless()) {
    repeated_.reset();
    is_repeated_useless_ = true;
  }
}

bool SizeModel::dropRepeated() {
  if (repeated_ == nullptr || contest_.best() == kRepeated) return false;
  repeated_.reset();
  return is_repeated_useless_ = true;
}

SizeModel::Ahead::Ahead(const SizeModel& model) : size_(model.next()) {
  const std::size_t way = model.contest_.best();
  if (way >= kAgo && way - kAgo < model.moments_.count()) {
    before_ = &model;
    ago_ = way - kAgo + 1;
  } else if (way == kNumbers && model.numbers_.next()) {
    numbers_ = model.numbers_.ahead();
    is_of_numbers_ = true;
  } else if (way == kRepeated && model.repeated_ != nullptr) {
    repeated_ = RepeatedSequence::Ahead(*model.repeated_);
    is_repeated_ = true;
  }
}

std::int64_t SizeModel::Ahead::next() {
  if (is_of_numbers_) return numbers_.next().value_or(size_);
  if (is_repeated_) return repeated_.next().value_or(size_);
  return before_ == nullptr ? size_ : before_->ago(ago_ - count_++ % ago_);
}

}  // namespace omnio::predict
