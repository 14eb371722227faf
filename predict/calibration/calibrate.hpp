// Measures a storage target: omnio calibrate.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "predict/calibration/document.hpp"

namespace omnio::predict {

// Less is taken up by preparing and cleaning up.
inline constexpr std::int64_t kLeastBudgetNs = 5'000'000'000;

struct CalibrateSettings {
  std::filesystem::path target;
  std::filesystem::path output;
  std::optional<CacheState> cache;  // nothing: kDirect, kCold or kCached, the first that there is
  std::int64_t budget_ns = 600'000'000'000;  // of all sessions together
  std::uint32_t processes = 1;
  std::uint64_t accesses = 1000;
  std::uint64_t largest_bytes = 16 << 20;
  std::uint64_t seed = 1;
  std::optional<Calibration> resumed;  // goes on with it
  std::string tool;
  // Set by a handler of signals: the calibration ends within about a second.
  const std::atomic<int>* stop_signal = nullptr;
};

struct CalibrateOutcome {
  Calibration calibration;
  bool is_stopped = false;
  std::vector<std::string> notes;  // sentences for the user
};

// Writes the document again and again while it measures, and at the end. Its files are removed from
// the target, however it ends but by SIGKILL; then the next one does it. Fails with a sentence:
// settings that do not go together, a target that cannot be measured so, too little room, errors of
// the target. What was measured before an error is in the document.
base::Result<CalibrateOutcome> calibrate(const CalibrateSettings& settings);

}  // namespace omnio::predict
