#include "core/base/log.hpp"

#include <chrono>
#include <cstdlib>
#include <utility>

namespace omnio::base {
namespace {

LogLevel level_now = LogLevel::kOff;
LogLine line_now;

std::int64_t nowNs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

LogLevel logLevelFor(int verbosity) {
  if (verbosity > 1) return LogLevel::kDebug;
  if (verbosity == 1) return LogLevel::kInfo;
  const char* const word = std::getenv(kLogVariable);
  return word == nullptr ? LogLevel::kOff : valueOf(kLogLevels, word).value_or(LogLevel::kOff);
}

void setLog(LogLevel level, LogLine write) {
  level_now = write ? level : LogLevel::kOff;
  line_now = std::move(write);
}

LogLevel logLevel() { return level_now; }

void log(LogLevel level, std::string_view text) {
  if (logs(level)) line_now(level, text);
}

void LoggedSteps::begin(std::string name) {
  end();
  name_ = std::move(name);
  begin_ns_ = nowNs();
  if (logs(LogLevel::kDebug)) log(LogLevel::kDebug, name_ + " begins");
}

void LoggedSteps::end() {
  if (name_.empty()) return;
  const auto seconds = static_cast<double>(nowNs() - begin_ns_) / 1e9;
  if (logs(level_)) log(level_, fmt::format("{} took {:.3f} s", name_, seconds));
  name_.clear();
}

}  // namespace omnio::base
