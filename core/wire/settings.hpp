// The settings of a recording: each has an option of `omnio trace`, a variable of the environment
// and a key in a configuration file. This table is what all of them are made of, and the tracer's
// own names too.
//
// To add a setting: 1. a row here, and its name in SettingId at the same place; 2. its field in
// cli/commands/trace.cpp, or what the tracer makes of it in trace/runtime/settings.cpp; 3. a line
// in docs/formats/config.md. Parsing, precedence, --dump-config and launchers follow from the row.
#pragma once

#include <cstddef>
#include <cstdint>

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
};

enum class SettingType : std::uint8_t {
  kPath,
  kFlavour,   // one of the five words
  kPatterns,  // core/wire/path_pattern.hpp; those of all sources add up
  kSwitch,    // setting_text.hpp has the words of these three
  kSignal,
  kSize,
  kWhenSlow,  // one of two words
};

struct Setting {
  SettingId id;
  SettingType type;
  bool reaches_processes;  // `omnio trace` hands it on, and launchers forward it to their ranks
  const char* option;
  const char* variable;
  const char* key;
  const char* fallback;  // its default, as it would be written in the variable
  const char* help;
};

inline constexpr Setting kSettings[] = {
    {SettingId::kOutput, SettingType::kPath, false, "--output", "OMNIO_OUTPUT", "output", "",
     "Trace directory (default: PROGRAM.JOB.trace here)"},
    {SettingId::kFlavour, SettingType::kFlavour, true, "--flavour", "OMNIO_FLAVOUR", "flavour",
     "auto", "Which tracer to preload (default: auto)"},
    {SettingId::kExclude, SettingType::kPatterns, true, "--exclude", "OMNIO_EXCLUDE", "exclude", "",
     "Leave out files whose path matches GLOB; may be given more than once"},
    {SettingId::kInclude, SettingType::kPatterns, true, "--include", "OMNIO_INCLUDE", "include", "",
     "Record files whose path matches GLOB though another pattern leaves them out"},
    {SettingId::kStartStopped, SettingType::kSwitch, true, "--start-stopped", "OMNIO_START_STOPPED",
     "start_stopped", "no", "Record nothing until the program, or the signal, says so"},
    {SettingId::kToggleSignal, SettingType::kSignal, true, "--toggle-signal", "OMNIO_TOGGLE_SIGNAL",
     "toggle_signal", "none",
     "A signal that stops the recording of a process, and starts it again (default: none)"},
    {SettingId::kMaxLogSize, SettingType::kSize, true, "--max-log-size", "OMNIO_MAX_LOG_SIZE",
     "max_log_size", "0",
     "The log of a process grows no further; what is dropped is counted (default: 0, no limit)"},
    {SettingId::kWhenSlow, SettingType::kWhenSlow, true, "--when-slow", "OMNIO_WHEN_SLOW",
     "when_slow", "wait",
     "What a thread does whose rings are all full since the log's device is slow: wait for it, or "
     "drop events (default: wait)"},
    {SettingId::kSystemClock, SettingType::kSwitch, true, "--system-clock", "OMNIO_SYSTEM_CLOCK",
     "system_clock", "no", "Times by CLOCK_MONOTONIC, also where the processor's counter is good"},
    {SettingId::kRingDirectory, SettingType::kPath, true, "--ring-directory", "OMNIO_RING_DIR",
     "ring_directory", "",
     "Folder on tmpfs for what is not yet written (default: the first that there is)"},
    {SettingId::kLibraryDirectory, SettingType::kPath, false, "--library-directory",
     "OMNIO_LIBRARY_DIR", "library_directory", "",
     "Where the preloaded libraries are (default: beside this program)"},
    {SettingId::kExplain, SettingType::kSwitch, false, "--explain", "OMNIO_EXPLAIN", "explain",
     "no", "Say at the end which flavour each process turned out to be, and why"},
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
// For tests of what becomes of clocks that differ: "NANOSECONDS:PPM" has the system's clocks read
// that much ahead, and that much too fast since the node was booted; counts in CLOCK_MONOTONIC
// then.
inline constexpr const char* kTestClockVariable = "OMNIO_TEST_CLOCK";
// Names the configuration file.
inline constexpr const char* kConfigVariable = "OMNIO_CONFIG";

}  // namespace omnio::wire
