// The settings of `omnio trace` as they come together: defaults, a configuration file
// (docs/formats/config.md), the environment, the command line, each before the next. What the
// values mean is in core/wire/settings.hpp.
#pragma once
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/wire/settings.hpp"

namespace omnio::cli {

inline constexpr std::array<std::string_view, 5> kFlavours = {"auto", "serial", "openmp", "mpi",
                                                              "hybrid"};

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

  // Takes the place of what was there; patterns come in front of those that were. The words are
  // without complaint.
  void take(wire::SettingId id, std::vector<std::string> words, const std::string& source);
  // Takes the variables that are set. Fails when a value means nothing.
  base::Result<void> takeEnvironment();
  // Takes the settings of a configuration file. Fails with file, line and reason.
  base::Result<void> takeFile(const std::filesystem::path& path);

  const SettingValue& of(wire::SettingId id) const { return values_[static_cast<std::size_t>(id)]; }
  // The one word of a setting that is not of patterns; a switch has "yes" or "no".
  const std::string& word(wire::SettingId id) const { return of(id).words.front(); }
  // As the variable has it.
  std::string variableOf(wire::SettingId id) const;
  // As a configuration file, with comments that say where each came from.
  std::string fileText() const;

 private:
  std::array<SettingValue, std::size(wire::kSettings)> values_;
};

// The configuration file to read: the first of `wanted` (when not empty), the one OMNIO_CONFIG
// names, config.ini in $XDG_CONFIG_HOME/omnio or ~/.config/omnio, /etc/omnio/config.ini. One that
// was named is returned whether it is there or not; none: there is none.
std::optional<std::filesystem::path> findConfig(const std::string& wanted);

}  // namespace omnio::cli
