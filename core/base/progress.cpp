#include "core/base/progress.hpp"

#include <fmt/format.h>

#include <atomic>
#include <mutex>

namespace omnio::base {

namespace {

std::atomic<std::uint64_t> g_counted{0};
std::mutex g_mutex;
ProgressStage* g_innermost = nullptr;

std::string leftText(std::int64_t seconds) {
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
}

}  // namespace

void progressBy(std::uint64_t amount) { g_counted.fetch_add(amount, std::memory_order_relaxed); }

ProgressStage::ProgressStage(std::string_view what, std::string_view unit, std::uint64_t all)
    : what_(what),
      unit_(unit),
      all_(all),
      counted_before_(g_counted.load(std::memory_order_relaxed)),
      begin_(counted_before_),
      started_(std::chrono::steady_clock::now()) {
  const std::lock_guard lock(g_mutex);
  outer_ = g_innermost;
  g_innermost = this;
}

ProgressStage::~ProgressStage() {
  const std::lock_guard lock(g_mutex);
  // Stages of two threads do not end in the order of their beginnings.
  ProgressStage** place = &g_innermost;
  while (*place != this && *place != nullptr) place = &(*place)->outer_;
  if (*place == this) *place = outer_;
  if (outer_ != nullptr) {
    outer_->begin_ += g_counted.load(std::memory_order_relaxed) - counted_before_;
  }
}

void ProgressStage::reach(std::uint64_t done, std::uint64_t all) {
  const std::lock_guard lock(g_mutex);
  begin_ = g_counted.load(std::memory_order_relaxed) - done;  // wraps around, and back when read
  all_ = all;
}

std::optional<Progress> progressNow() {
  const std::lock_guard lock(g_mutex);
  if (g_innermost == nullptr) return std::nullopt;
  const ProgressStage& stage = *g_innermost;
  const auto elapsed = std::chrono::steady_clock::now() - stage.started_;
  return Progress{
      .what = stage.what_,
      .unit = stage.unit_,
      .done = g_counted.load(std::memory_order_relaxed) - stage.begin_,
      .all = stage.all_,
      .elapsed_ms = std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count()};
}

std::string progressText(const Progress& progress) {
  const auto& [what, unit, done, all, elapsed_ms] = progress;
  constexpr std::uint64_t kMillion = 1'000'000;
  const bool is_share = all > 0 && done <= all;
  const bool in_millions = (is_share ? all : done) >= 10 * kMillion;
  const auto number = [in_millions](std::uint64_t count) {
    return in_millions ? fmt::format("{:.1f}", static_cast<double>(count) / kMillion)
                       : fmt::format("{}", count);
  };
  std::string text(what);
  if (done > 0 || is_share) {
    text += fmt::format(": {}{}{} {}", number(done), is_share ? " of " + number(all) : "",
                        in_millions ? " million" : "", unit);
  }
  if (!is_share) return text;
  const double share = static_cast<double>(done) / static_cast<double>(all);
  text += fmt::format(", {} %", static_cast<int>(100 * share));
  if (elapsed_ms < 1000 || done == 0) return text;
  const double left_s = static_cast<double>(elapsed_ms) / 1000 * (1 - share) / share;
  constexpr double kLongest = 1e6;  // more is a guess that helps no reader
  if (left_s < kLongest)
    text += fmt::format(", {} left", leftText(static_cast<std::int64_t>(left_s + 0.5)));
  return text;
}

}  // namespace omnio::base
