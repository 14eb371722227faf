// What the values of settings look like in text, for the command line, the environment and
// configuration files alike.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace omnio::wire {

constexpr std::optional<std::uint64_t> parseDigits(std::string_view text) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  if (text.empty()) return {};
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return {};
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (kMost - digit) / 10) return {};
    value = value * 10 + digit;
  }
  return value;
}

// Bytes: "1048576", or a whole number of K, M, G, T, each 1024 of the one before; "KiB" and its
// like mean the same. "KB" would mean 1000 to some, so it means nothing here.
constexpr std::optional<std::uint64_t> parseSize(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  unsigned shift = 0;
  if (text.ends_with("iB")) {
    text.remove_suffix(2);
    if (text.empty() || kUnits.find(text.back()) == std::string_view::npos) return {};
  }
  if (!text.empty() && kUnits.find(text.back()) != std::string_view::npos) {
    shift = 10 * static_cast<unsigned>(kUnits.find(text.back()) + 1);
    text.remove_suffix(1);
  }
  const auto number = parseDigits(text);
  if (!number || *number > std::numeric_limits<std::uint64_t>::max() >> shift) return {};
  return *number << shift;
}

constexpr std::optional<bool> parseSwitch(std::string_view text) {
  for (const std::string_view yes : {"1", "yes", "true", "on"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"", "0", "no", "false", "off"}) {
    if (text == no) return false;
  }
  return {};
}

// What to do when the log's device is slow: "wait" (false) or "drop" (true).
constexpr std::optional<bool> parseWhenSlow(std::string_view text) {
  if (text.empty() || text == "wait") return false;
  if (text == "drop") return true;
  return {};
}

// "none" (0), "USR1", "SIGUSR1", or a number; of the rest those alone whose meaning is not taken:
// a signal that stops a process, or that tells of an error in it, cannot be had. The numbers are
// those of Linux on x86 and ARM.
constexpr std::optional<int> parseSignal(std::string_view text) {
  struct Known {
    std::string_view name;
    int number;
  };
  constexpr Known kKnown[] = {{"none", 0},   {"USR1", 10},   {"USR2", 12},
                              {"URG", 23},   {"VTALRM", 26}, {"PROF", 27},
                              {"WINCH", 28}, {"IO", 29},     {"PWR", 30}};
  constexpr int kFirstRealTime = 34;  // the C library keeps 32 and 33
  constexpr int kLastRealTime = 64;
  if (text.empty()) return 0;
  if (const auto number = parseDigits(text)) {
    const int wanted = *number > kLastRealTime ? -1 : static_cast<int>(*number);
    for (const Known& known : kKnown) {
      if (known.number == wanted) return wanted;
    }
    if (wanted >= kFirstRealTime) return wanted;
    return {};
  }
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (const Known& known : kKnown) {
    if (known.name == text) return known.number;
  }
  return {};
}

}  // namespace omnio::wire
