// How many of the next contexts are predicted right at one moment, until the first wrong one
// (Dorier et al., TPDS 2016, figure 3): they are written down, and compared with those that come.
// Then the next ones are, twice as many as were right, so that an operation takes constant time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace omnio::predict {

class FollowedContexts {
 public:
  static constexpr std::size_t kMost = 4096;  // are looked ahead
  struct Finding {
    std::uint64_t since = 0;  // operations before the first of these
    std::size_t right = 0;
  };

  // How many of the next contexts are to be written down now; 0: those that are there go on.
  std::size_t wanted() const { return now_ ? 0 : std::clamp<std::size_t>(2 * right_, 16, kMost); }
  // The next contexts, after so many operations. None: nothing is expected.
  void begin(std::uint64_t operations, std::vector<std::uint64_t> contexts) {
    now_ = Finding{.since = operations};
    contexts_ = std::move(contexts);
  }
  // The next context. The finding, where this ends it: it is wrong, or the last one.
  std::optional<Finding> take(std::uint64_t context) {
    if (!now_) return std::nullopt;
    const bool is_right = now_->right < contexts_.size() && contexts_[now_->right] == context;
    if (is_right && ++now_->right < contexts_.size()) return std::nullopt;
    return end();
  }
  // At the end of the run: what were right until then.
  std::optional<Finding> end() {
    if (now_) right_ = now_->right;
    return std::exchange(now_, std::nullopt);
  }

 private:
  std::optional<Finding> now_;
  std::vector<std::uint64_t> contexts_;
  std::size_t right_ = 0;  // of the last finding
};

}  // namespace omnio::predict
