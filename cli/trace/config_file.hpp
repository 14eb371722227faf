// Configuration files of `omnio trace`: docs/formats/config.md. Which one is read, reading it, and
// writing the settings in force as one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/trace/setting_values.hpp"
#include "core/base/result.hpp"

namespace omnio::cli {

// The first of: `wanted` (when not empty), the one OMNIO_CONFIG names, config.json in
// $XDG_CONFIG_HOME/omnio or ~/.config/omnio, /etc/omnio/config.json. One that was named is returned
// whether it is there or not; none: there is none.
std::optional<std::filesystem::path> findConfig(const std::string& wanted);

// Takes the file's settings. Fails with file, line, column and reason.
std::optional<base::Failure> readConfig(const std::filesystem::path& path, SettingValues& values);

// The settings in force as a configuration file, and where each came from.
std::string configText(const SettingValues& values);

}  // namespace omnio::cli
