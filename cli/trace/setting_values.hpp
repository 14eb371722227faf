// The settings of `omnio trace` as they come together: defaults, a configuration file, the
// environment, the command line, each before the next. What the values mean is in
// core/wire/settings.hpp.
#pragma once
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/wire/settings.hpp"

namespace omnio::cli {

// One value as text, as it would stand in the variable; of patterns any number, each as it is.
struct SettingValue {
  std::vector<std::string> words;
  std::vector<std::string> sources;  // "--exclude", "OMNIO_EXCLUDE", a file's name; or "default"
};

// Why the word cannot be a value of the setting; empty when it can.
std::string complaintAbout(const wire::Setting& setting, const std::string& word);

class SettingValues {
 public:
  SettingValues();  // the defaults

  // Takes the place of what was there; patterns come in front of those that were.
  void take(wire::SettingId id, std::vector<std::string> words, const std::string& source);
  // Takes the variables that are set. Fails when a value means nothing.
  std::optional<base::Failure> takeEnvironment();

  const SettingValue& of(wire::SettingId id) const { return values_[static_cast<std::size_t>(id)]; }
  // Of all settings but patterns.
  const std::string& word(wire::SettingId id) const { return of(id).words.front(); }
  // As the variable has it.
  std::string variableOf(wire::SettingId id) const;

 private:
  std::array<SettingValue, std::size(wire::kSettings)> values_;
};

// Configuration files of `omnio trace`: docs/formats/config.md. Which one is read, reading it, and
// writing the settings in force as one.
// The first of: `wanted` (when not empty), the one OMNIO_CONFIG names, config.json in
// $XDG_CONFIG_HOME/omnio or ~/.config/omnio, /etc/omnio/config.json. One that was named is returned
// whether it is there or not; none: there is none.
std::optional<std::filesystem::path> findConfig(const std::string& wanted);

// Takes the file's settings. Fails with file, line, column and reason.
std::optional<base::Failure> readConfig(const std::filesystem::path& path, SettingValues& values);

// The settings in force as a configuration file, and where each came from.
std::string configText(const SettingValues& values);

}  // namespace omnio::cli
