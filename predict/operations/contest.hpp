// Which of several ways to predict is to be believed: one that has been right more often of late.
#pragma once

#include <array>
#include <cstddef>

namespace omnio::predict {

// The believed way is compared with each other one in those moments alone in which the two differ.
// So a way that is right where all are right gains nothing by it, and one that is right once in a
// thousand times where the believed one is wrong is believed after some of these. Older moments
// count less: what was right lately is followed. The first way is believed until another has been
// clearly better: where all is random, that one predicts as well as any.
template <std::size_t kCount>
class Contest {
 public:
  // What clearly better means: by so many errors of late, of at most ten.
  explicit Contest(float margin) : margin_(margin) {}

  // By how much each was wrong: 0 for right, 1 for wrong.
  void take(const std::array<float, kCount>& errors) {
    const float own = errors[best_];
    std::size_t best = best_;
    float most = handicapOf(best_);
    for (std::size_t i = 0; i < kCount; ++i) {
      if (errors[i] == own) continue;
      lead_[i] = kKept * lead_[i] + own - errors[i];
      const float lead = lead_[i] + handicapOf(i);
      if (lead > most) {
        most = lead;
        best = i;
      }
    }
    if (best != best_) believe(best);
  }

  std::size_t best() const { return best_; }

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(best_, lead_);
    archive.require(best_ < kCount, "it believes in a way that does not exist");
  }

 private:
  static constexpr float kKept = 0.9F;

  float handicapOf(std::size_t way) const { return way == 0 ? 0 : -margin_; }

  // What a way is ahead of the newly believed one is what it is ahead of the old one, less what
  // that one is.
  void believe(std::size_t way) {
    const float ahead = lead_[way];
    for (float& lead : lead_) lead -= ahead;
    best_ = way;
  }

  float margin_;
  std::size_t best_ = 0;
  std::array<float, kCount> lead_{};  // over the believed way, whose own is 0
};

}  // namespace omnio::predict
