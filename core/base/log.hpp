// The log of a host program: the steps that it goes through, how long each takes, and what came
// before a failure. Nothing is written until setLog() is called. Libraries only write lines; the
// program decides where these go (logging/logging.hpp). Any thread may write.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/text_table.hpp"

namespace omnio::base {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kOff };
inline constexpr Word<LogLevel> kLogLevels[] = {{LogLevel::kDebug, "debug"},
                                                {LogLevel::kInfo, "info"},
                                                {LogLevel::kWarn, "warn"},
                                                {LogLevel::kOff, "off"}};

// The level that `-v` (1) and `-vv` (2) ask for; with neither of them (0) the one that the variable
// OMNIO_LOG names, or kOff.
inline constexpr const char* kLogVariable = "OMNIO_LOG";
LogLevel logLevelFor(int verbosity);

// A line for a person, without the newline.
using LogLine = std::function<void(LogLevel level, std::string_view text)>;
// Before other threads are started.
void setLog(LogLevel level, LogLine write);
LogLevel logLevel();
inline bool logs(LogLevel level) { return level >= logLevel() && logLevel() != LogLevel::kOff; }
void log(LogLevel level, std::string_view text);

template <typename... A>
void logDebug(fmt::format_string<A...> form, A&&... values) {
  if (logs(LogLevel::kDebug)) log(LogLevel::kDebug, fmt::format(form, std::forward<A>(values)...));
}
template <typename... A>
void logInfo(fmt::format_string<A...> form, A&&... values) {
  if (logs(LogLevel::kInfo)) log(LogLevel::kInfo, fmt::format(form, std::forward<A>(values)...));
}
template <typename... A>
void logWarn(fmt::format_string<A...> form, A&&... values) {
  if (logs(LogLevel::kWarn)) log(LogLevel::kWarn, fmt::format(form, std::forward<A>(values)...));
}

// Steps that follow each other: a line when one ends, with the time that it took.
class LoggedSteps {
 public:
  explicit LoggedSteps(LogLevel level) : level_(level) {}
  LoggedSteps(const LoggedSteps&) = delete;
  LoggedSteps& operator=(const LoggedSteps&) = delete;
  ~LoggedSteps() { end(); }

  // Ends the step before it: "reading the plan".
  void begin(std::string name);
  void end();

 private:
  LogLevel level_;
  std::string name_;  // empty: none is under way
  std::int64_t begin_ns_ = 0;
};

}  // namespace omnio::base
