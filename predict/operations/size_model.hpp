// Predicts the sizes of the transfers of one context (Dorier et al., TPDS 2016): from the sizes
// seen (predict/operations/number_model.hpp), or their average where there are too many.
//
// Sizes that vary a little about a few values (the formatted numbers of each rank's share, say) are
// nearer to those of the turn before than to the average. So the sizes of 1, 2, ... 8 transfers ago
// compete with these (predict/operations/contest.hpp), by the relative error; and where many were
// wrong, so does what followed when the last sizes came before, however many different ones there
// are (predict/operations/repeated_sequence.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/moments.hpp"
#include "predict/operations/contest.hpp"
#include "predict/operations/number_model.hpp"
#include "predict/operations/repeated_sequence.hpp"

namespace omnio::predict {

class SizeModel {
 public:
  void take(std::int64_t bytes);

  bool isKnown() const { return moments_.count() > 0; }
  // 0 before the first size.
  std::int64_t next() const { return said(contest_.best()); }
  // Average, variance, minimum and maximum of all.
  const base::Moments& moments() const { return moments_; }
  std::size_t symbolCount() const { return numbers_.symbolCount(); }
  std::size_t memoryBytes() const {
    return numbers_.memoryBytes() +
           (repeated_ == nullptr ? 0 : sizeof(*repeated_) + repeated_->memoryBytes());
  }
  void halve() {
    dropRepeated();
    numbers_.halve();
  }
  // Frees the memory of repeated sequences, unless they are believed. Whether it had any.
  bool dropRepeated();
  // Gives memory that is not used back.
  void compact() { numbers_.compact(); }

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(numbers_, moments_, contest_, before_, repeated_, is_repeated_useless_, wrong_);
    archive.require(moments_.average() >= 0 && moments_.average() <= kMostAverage,
                    "an average is below 0 or too large");
  }

  // The sizes that follow, one after the other. Ends when the model takes a size.
  class Ahead {
   public:
    explicit Ahead(const SizeModel& model);
    std::int64_t next();

   private:
    std::int64_t size_;
    NumberModel::Ahead numbers_;
    RepeatedSequence::Ahead repeated_;
    bool is_of_numbers_ = false;
    bool is_repeated_ = false;
    const SizeModel* before_ = nullptr;  // where the size is that of so many transfers ago
    std::size_t ago_ = 0;
    std::size_t count_ = 0;
  };

 private:
  void takeRepeated(std::int64_t bytes);

  static constexpr std::size_t kMostAgo = 8;
  static constexpr double kMostAverage = 1e17;
  // After these, the size of 1, 2, ... transfers ago.
  enum Way : std::size_t { kNumbers, kAverage, kRepeated, kAgo, kWays = kAgo + kMostAgo };
  std::int64_t said(std::size_t way) const;
  std::int64_t ago(std::size_t transfers) const {
    return before_[(moments_.count() - transfers) % kMostAgo];
  }

  NumberModel numbers_;
  base::Moments moments_;
  Contest<kWays> contest_{0};
  std::array<std::int64_t, kMostAgo> before_{};
  std::unique_ptr<RepeatedSequence> repeated_;  // made when much of late was wrong
  bool is_repeated_useless_ = false;
  float wrong_ = 0;
};

}  // namespace omnio::predict
