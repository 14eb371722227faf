// Predicts the sizes of the transfers of one context (Dorier et al., TPDS 2016): from the sizes
// seen (predict/operations/number_model.hpp), or their average where there are too many.
//
// Sizes that vary a little about a few values (the formatted numbers of each rank's share, say) are
// nearer to those of the turn before than to the average. So the sizes of 1, 2, ... 8 transfers ago
// compete with these (predict/operations/contest.hpp), by the relative error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "predict/operations/contest.hpp"
#include "predict/operations/number_model.hpp"

namespace omnio::predict {

class SizeModel {
 public:
  void take(std::int64_t bytes);

  bool isKnown() const { return moments_.count() > 0; }
  // 0 before the first size.
  std::int64_t next() const { return said(contest_.best()); }
  // Average, variance, minimum and maximum of all.
  const Moments& moments() const { return moments_; }
  std::size_t symbolCount() const { return numbers_.symbolCount(); }
  std::size_t memoryBytes() const { return numbers_.memoryBytes(); }
  void halve() { numbers_.halve(); }

  // The sizes that follow, one after the other. Ends when the model takes a size.
  class Ahead {
   public:
    explicit Ahead(const SizeModel& model);
    std::int64_t next();

   private:
    std::int64_t size_;
    NumberModel::Ahead numbers_;
    bool is_of_numbers_ = false;
    const SizeModel* before_ = nullptr;  // where the size is that of so many transfers ago
    std::size_t ago_ = 0;
    std::size_t count_ = 0;
  };

 private:
  static constexpr std::size_t kMostAgo = 8;
  // After these, the size of 1, 2, ... transfers ago.
  enum Way : std::size_t { kNumbers, kAverage, kAgo, kWays = kAgo + kMostAgo };
  std::int64_t said(std::size_t way) const;
  std::int64_t ago(std::size_t transfers) const {
    return before_[(moments_.count() - transfers) % kMostAgo];
  }

  NumberModel numbers_;
  Moments moments_;
  Contest<kWays> contest_{0};
  std::array<std::int64_t, kMostAgo> before_{};
};

}  // namespace omnio::predict
