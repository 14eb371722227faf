#include "trace/runtime/settings.hpp"

#include <stdlib.h>

#include <cstring>

#include "core/wire/settings.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {
namespace {

using wire::SettingId;

constexpr std::size_t kMaxPatterns = 16 * 1024;
char exclude_copy[kMaxPatterns] = {};
char include_copy[kMaxPatterns] = {};
char through_copy[kMaxPatterns] = {};
char refused_copy[512] = {};

const char* variableOf(SettingId id) {
  const char* value = getenv(wire::settingOf(id).variable);
  return value == nullptr ? "" : value;
}

const char* copied(SettingId id, char (&into)[kMaxPatterns]) {
  Text(into, sizeof into).put(variableOf(id));
  return into;
}

// A value that means nothing cannot be reported here: it counts as not given, and the trace
// says so.
template <typename Value, typename Parse>
void read(SettingId id, Parse parse, Value& into, Text& refused) {
  if (const auto value = parse(variableOf(id))) {
    into = *value;
    return;
  }
  if (refused.size() > 0) refused.putByte(' ');
  refused.put(wire::settingOf(id).variable).putByte('=').put(variableOf(id));
}

}  // namespace

bool isAskedFor() {
  const char* directory = getenv(wire::kDirectoryVariable);
  return directory != nullptr && directory[0] == '/' &&
         strlen(directory) < wire::kMaxTraceDirectory;
}

void readSettings(Settings& settings) {
  Text(settings.directory, sizeof settings.directory).put(getenv(wire::kDirectoryVariable));
  settings.exclude = copied(SettingId::kExclude, exclude_copy);
  settings.include = copied(SettingId::kInclude, include_copy);
  settings.callstack_through = copied(SettingId::kCallstackThrough, through_copy);
  if (*settings.callstack_through == '\0') {
    settings.callstack_through = wire::settingOf(SettingId::kCallstackThrough).fallback;
  }
  const char* flavour = variableOf(SettingId::kFlavour);
  settings.flavour_is_ours = *flavour == '\0' || strcmp(flavour, "auto") == 0;
  Text refused(refused_copy, sizeof refused_copy);
  read(SettingId::kStartStopped, wire::parseSwitch, settings.starts_stopped, refused);
  read(SettingId::kSystemClock, wire::parseSwitch, settings.system_clock, refused);
  read(SettingId::kWhenSlow, wire::parseWhenSlow, settings.drops_when_slow, refused);
  read(SettingId::kCallstack, wire::parseFrames, settings.callstack, refused);
  read(SettingId::kToggleSignal, wire::parseSignal, settings.toggle_signal, refused);
  read(
      SettingId::kMaxLogSize,
      [](const char* text) {
        return *text == '\0' ? std::optional<std::uint64_t>(0) : wire::parseSize(text);
      },
      settings.max_log_size, refused);
  settings.refused = refused_copy;
}

}  // namespace omnio::trace
