#include "core/tracefile/run_window.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "core/base/printable.hpp"
#include "core/tracefile/log_reader.hpp"

namespace omnio::tracefile {
namespace {

constexpr double kNsPerS = 1e9;

std::optional<std::int64_t> readSeconds(std::string_view text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr double kMost = 1e9;  // 31 years: the sum with a time of the trace fits into int64_t
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (!is_number || !(seconds >= 0) || seconds > kMost) return {};
  return std::llround(seconds * kNsPerS);
}

}  // namespace

base::Result<Window> readWindow(std::string_view text) {
  const auto refused = [&](std::string_view why) {
    return base::failure(base::Code::kInvalid, "`{}` {}", base::printable(text), why);
  };
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return refused("is not FROM..TO, in seconds");
  const std::string_view from = text.substr(0, dots);
  const std::string_view to = text.substr(dots + 2);
  if (from.empty() && to.empty()) return refused("has neither a begin nor an end");
  Window window;
  if (!from.empty()) {
    const auto read = readSeconds(from);
    if (!read) return refused("does not begin with a number of seconds");
    window.from_ns = *read;
  }
  if (!to.empty()) {
    window.to_ns = readSeconds(to);
    if (!window.to_ns) return refused("does not end with a number of seconds");
    if (*window.to_ns <= window.from_ns) return refused("ends before it begins");
  }
  return window;
}

base::Result<std::int64_t> readTime(std::string_view text) {
  if (const auto read = readSeconds(text)) return *read;
  return base::failure(base::Code::kInvalid, "`{}` is not a number of seconds",
                       base::printable(text));
}

std::int64_t startOfRun(const Trace& trace) {
  std::int64_t start = std::numeric_limits<std::int64_t>::max();
  for (const auto& process : trace.processes()) {
    for (const Log& log : process->logs) {
      event::PathTable paths;
      LogReader events(*process, log, paths);
      // A call below another one comes before it.
      for (const event::Event* event = events.next(); event != nullptr; event = events.next()) {
        start = std::min(start, event->start_ns);
        if (event->depth == 0) break;
      }
    }
  }
  return start == std::numeric_limits<std::int64_t>::max() ? 0 : start;
}

}  // namespace omnio::tracefile
