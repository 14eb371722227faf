// Which of several ways to predict is to be believed: one that has been wrong less often of late.
#pragma once

#include <array>
#include <cstddef>

namespace omnio::predict {

// Only moments count in which one was wrong, so that a way which is right once in a thousand times
// where all others are wrong is believed after some of these. The first way is believed until
// another has been clearly better: where all is random, that one predicts as well as any.
template <std::size_t kCount>
class Contest {
 public:
  // What clearly better means: by so many errors of late, of at most ten.
  explicit Contest(float margin) : margin_(margin) {}

  // By how much each was wrong: 0 for right, 1 for wrong.
  void take(const std::array<float, kCount>& errors) {
    float sum = 0;
    for (const float error : errors) sum += error;
    if (sum == 0) return;
    for (std::size_t i = 0; i < kCount; ++i) wrong_[i] = kKept * wrong_[i] + errors[i];
  }

  std::size_t best() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < kCount; ++i) {
      if (wrong_[i] + (best == 0 ? margin_ : 0) < wrong_[best]) best = i;
    }
    return best;
  }

 private:
  static constexpr float kKept = 0.9F;
  float margin_;
  std::array<float, kCount> wrong_{};
};

}  // namespace omnio::predict
