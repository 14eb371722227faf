// The settings of a recording: each has an option of `omnio trace`, by whose name it stands in a
// configuration file too, and a variable of the environment. This table is what all of them are
// made of, and the tracer's own names too.
//
// To add a setting: 1. a row here, and its name in SettingId at the same place; 2. its field in
// cli/commands/trace.cpp, or what the tracer makes of it in trace/runtime/settings.cpp; 3. a line
// in docs/formats/config.md. Parsing, precedence, --dump-config and launchers follow from the row.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace omnio::wire {

enum class SettingId : std::uint8_t {
  kOutput,
  kFlavour,
  kExclude,
  kInclude,
  kStartStopped,
  kToggleSignal,
  kMaxLogSize,
  kWhenSlow,
  kSystemClock,
  kRingDirectory,
  kLibraryDirectory,
  kExplain,
  kCallstack,
  kCallstackThrough,
};

enum class SettingType : std::uint8_t {
  kPath,
  kFlavour,   // one of the five words
  kPatterns,  // core/wire/path_pattern.hpp; those of all sources add up
  kSwitch,    // the words of these are read below
  kSignal,
  kSize,
  kWhenSlow,  // one of two words
  kFrames,    // how many frames of a call stack, "auto", or the words of a switch
  kModules,   // names of modules, isWalkedThrough()
};

struct Setting {
  SettingId id;
  SettingType type;
  bool reaches_processes;  // `omnio trace` hands it on, and launchers forward it to their ranks
  const char* option;
  const char* variable;
  const char* fallback;  // its default, as it would be written in the variable
  const char* help;
};

inline constexpr Setting kSettings[] = {
    {SettingId::kOutput, SettingType::kPath, false, "--output", "OMNIO_OUTPUT", "",
     "Trace directory (default: PROGRAM.JOB.trace here)"},
    {SettingId::kFlavour, SettingType::kFlavour, true, "--flavour", "OMNIO_FLAVOUR", "auto",
     "Which tracer to preload (default: auto)"},
    {SettingId::kExclude, SettingType::kPatterns, true, "--exclude", "OMNIO_EXCLUDE", "",
     "Leave out files whose path matches GLOB; may be given more than once"},
    {SettingId::kInclude, SettingType::kPatterns, true, "--include", "OMNIO_INCLUDE", "",
     "Record files whose path matches GLOB though another pattern leaves them out"},
    {SettingId::kStartStopped, SettingType::kSwitch, true, "--start-stopped", "OMNIO_START_STOPPED",
     "no", "Record nothing until the program, or the signal, says so"},
    {SettingId::kToggleSignal, SettingType::kSignal, true, "--toggle-signal", "OMNIO_TOGGLE_SIGNAL",
     "none", "A signal that stops the recording of a process, and starts it again (default: none)"},
    {SettingId::kMaxLogSize, SettingType::kSize, true, "--max-log-size", "OMNIO_MAX_LOG_SIZE", "0",
     "The log of a process grows no further; what is dropped is counted (default: 0, no limit)"},
    {SettingId::kWhenSlow, SettingType::kWhenSlow, true, "--when-slow", "OMNIO_WHEN_SLOW", "wait",
     "What a thread does whose rings are all full since the log's device is slow: wait for it, or "
     "drop events (default: wait)"},
    {SettingId::kSystemClock, SettingType::kSwitch, true, "--system-clock", "OMNIO_SYSTEM_CLOCK",
     "no", "Times by CLOCK_MONOTONIC, also where the processor's counter is good"},
    {SettingId::kRingDirectory, SettingType::kPath, true, "--ring-directory", "OMNIO_RING_DIR", "",
     "Folder on tmpfs for what is not yet written (default: the first that there is)"},
    {SettingId::kLibraryDirectory, SettingType::kPath, false, "--library-directory",
     "OMNIO_LIBRARY_DIR", "", "Where the preloaded libraries are (default: beside this program)"},
    {SettingId::kExplain, SettingType::kSwitch, false, "--explain", "OMNIO_EXPLAIN", "no",
     "Say at the end which flavour each process turned out to be, and why"},
    {SettingId::kCallstack, SettingType::kFrames, true, "--callstack", "OMNIO_CALLSTACK", "no",
     "Record where each call was made: the call stack, at most DEPTH frames, or with auto as far "
     "as "
     "the fourth that belongs to no I/O library (default: no; without DEPTH: 8)"},
    {SettingId::kCallstackThrough, SettingType::kModules, true, "--callstack-through",
     "OMNIO_CALLSTACK_THROUGH", "default",
     "Which files --callstack=auto takes for I/O libraries: NAME,... with * and ?; the word "
     "default "
     "stands for HDF5, NetCDF, PnetCDF, MPI, ADIOS and the languages' own"},
};

constexpr const Setting& settingOf(SettingId id) { return kSettings[static_cast<std::size_t>(id)]; }

constexpr bool isTableInOrder() {
  for (std::size_t i = 0; i < sizeof kSettings / sizeof kSettings[0]; ++i) {
    if (kSettings[i].id != static_cast<SettingId>(i)) return false;
  }
  return true;
}
static_assert(isTableInOrder());

// The trace directory as the tracer has it: absolute, and there. Not the variable of --output, so
// that a command which is traced can run `omnio trace` itself.
inline constexpr const char* kDirectoryVariable = "OMNIO_DIR";
// Names the configuration file.
inline constexpr const char* kConfigVariable = "OMNIO_CONFIG";

// The text forms of the settings' values, for the command line, the environment and configuration
// files alike.
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

// The most frames that an event may have; 0 for none.
inline constexpr std::uint32_t kMostStackFrames = 64;
inline constexpr std::uint32_t kUsualStackFrames = 8;

// As many as it takes to have kAutoCallers that belong to no I/O library.
inline constexpr std::uint32_t kAutoStackFrames = kMostStackFrames + 1;
inline constexpr std::uint32_t kAutoCallers = 4;

// How many frames: a number up to kMostStackFrames, "auto" (kAutoStackFrames), or "yes" (the usual
// number) or "no" (none) as parseSwitch() has them.
constexpr std::optional<std::uint32_t> parseFrames(std::string_view text) {
  if (text == "auto") return kAutoStackFrames;
  if (const auto number = parseDigits(text)) {
    if (*number > kMostStackFrames) return {};
    return static_cast<std::uint32_t>(*number);
  }
  const std::optional<bool> is_on = parseSwitch(text);
  if (!is_on) return {};
  return *is_on ? kUsualStackFrames : 0;
}

// Files of I/O libraries and of what languages do I/O with: what lies between a call of the system
// and the code of an application.
inline constexpr std::string_view kIoLibraries =
    "libhdf5*,libnetcdf*,libpnetcdf*,libadios*,"
    "libmpi*,libmpl.so*,libmca_*,mca_*.so,libopen-pal.so*,libopen-rte.so*,libompi*,libpmpi*,"
    "libgfortran.so*,libstdc++.so*,libc++.so*,libc.so*";

// Whether a file of that name (without folders) belongs to a list: names with commas between them,
// in which * stands for any characters and ? for one; `default` for kIoLibraries.
constexpr bool isWalkedThrough(std::string_view list, std::string_view file) {
  const auto matches = [file](std::string_view pattern) {
    std::size_t at = 0;
    std::size_t in_pattern = 0;
    std::size_t after_star = std::string_view::npos;  // of the last star, where to go on
    std::size_t taken = 0;                            // by that star
    while (at < file.size()) {
      if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
        after_star = ++in_pattern;
        taken = at;
      } else if (in_pattern < pattern.size() &&
                 (pattern[in_pattern] == '?' || pattern[in_pattern] == file[at])) {
        ++in_pattern;
        ++at;
      } else if (after_star != std::string_view::npos) {
        in_pattern = after_star;
        at = ++taken;
      } else {
        return false;
      }
    }
    while (in_pattern < pattern.size() && pattern[in_pattern] == '*') ++in_pattern;
    return in_pattern == pattern.size();
  };
  constexpr std::string_view kDefault = "default";
  for (std::size_t begin = 0; begin <= list.size();) {
    std::size_t end = begin;
    while (end < list.size() && list[end] != ',') ++end;
    const std::string_view name(list.data() + begin, end - begin);
    if (name == kDefault ? isWalkedThrough(kIoLibraries, file) : matches(name)) return true;
    begin = end + 1;
  }
  return false;
}

// The behaviour when the log's device is slow: "wait" (false) or "drop" (true).
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
