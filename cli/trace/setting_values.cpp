#include "cli/trace/setting_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/trace/trace_directory.hpp"
#include "core/base/command_line.hpp"
#include "core/base/printable.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;
using wire::Setting;
using wire::SettingId;
using wire::SettingType;

// Patterns in a variable stand with colons between them; a backslash keeps a colon, or whatever
// follows it, together with what is before it.
std::string joined(const std::vector<std::string>& patterns) {
  std::string all;
  for (const std::string& pattern : patterns) {
    if (!all.empty()) all += ':';
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] == ':') all += '\\';
      all += pattern[i];
      if (pattern[i] == '\\' && i + 1 < pattern.size()) all += pattern[++i];
    }
  }
  return all;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> patterns(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ':') {
      patterns.emplace_back();
      continue;
    }
    patterns.back() += text[i];
    if (text[i] == '\\' && i + 1 < text.size()) patterns.back() += text[++i];
  }
  std::erase(patterns, "");
  return patterns;
}

// An empty variable counts as not set.
// "exclude" of "--exclude".
std::string_view nameInFile(const Setting& setting) {
  return std::string_view(setting.option).substr(2);
}

}  // namespace

std::string complaintAbout(const Setting& setting, const std::string& word) {
  const auto complain = [&word](std::string_view what) {
    return fmt::format("\"{}\" {}", base::printable(word), what);
  };
  switch (setting.type) {
    case SettingType::kPath:
    case SettingType::kPatterns:
    case SettingType::kModules:
      return word.find('\0') == std::string::npos ? std::string() : complain("contains a NUL byte");
    case SettingType::kFlavour:
      if (std::find(kFlavours.begin(), kFlavours.end(), word) != kFlavours.end()) return {};
      return complain("is not a flavour: use auto, serial, openmp, mpi or hybrid");
    case SettingType::kSwitch:
      return wire::parseSwitch(word) ? std::string() : complain("is neither yes nor no");
    case SettingType::kSignal:
      if (wire::parseSignal(word)) return {};
      return complain(
          "cannot be used as a signal: use none, USR1, USR2, URG, VTALRM, PROF, WINCH, IO, PWR, or "
          "a number from 34 to 64");
    case SettingType::kSize:
      if (wire::parseSize(word)) return {};
      return complain("is not a size: use a whole number of bytes, or of K, M, G or T (10G)");
    case SettingType::kWhenSlow:
      if (wire::parseWhenSlow(word)) return {};
      return complain("is neither wait nor drop");
    case SettingType::kFrames:
      if (wire::parseFrames(word)) return {};
      return complain(fmt::format("is not a number of frames: use yes, no, auto, or 0 to {}",
                                  wire::kMostStackFrames));
  }
  return {};
}

SettingValues::SettingValues() {
  for (const Setting& setting : wire::kSettings) {
    SettingValue& value = values_[static_cast<std::size_t>(setting.id)];
    if (setting.type != SettingType::kPatterns) value.words = {setting.fallback};
    value.sources = {"default"};
  }
}

void SettingValues::take(SettingId id, std::vector<std::string> words, const std::string& source) {
  SettingValue& value = values_[static_cast<std::size_t>(id)];
  const SettingType type = wire::settingOf(id).type;
  if (type != SettingType::kPatterns) {
    if (type == SettingType::kSwitch) words = {*wire::parseSwitch(words.front()) ? "yes" : "no"};
    value = {.words = std::move(words), .sources = {source}};
    return;
  }
  if (words.empty()) return;
  // One `omnio trace` inside another finds its own in the environment already.
  std::erase_if(value.words, [&words](const std::string& pattern) {
    return std::find(words.begin(), words.end(), pattern) != words.end();
  });
  const bool is_first = value.words.empty();
  value.words.insert(value.words.begin(), words.begin(), words.end());
  if (is_first) value.sources.clear();
  value.sources.insert(value.sources.begin(), source);
}

base::Result<void> SettingValues::takeEnvironment() {
  for (const Setting& setting : wire::kSettings) {
    const std::string text = variable(setting.variable);
    if (text.empty()) continue;
    const bool is_patterns = setting.type == SettingType::kPatterns;
    if (const std::string complaint = complaintAbout(setting, text); !complaint.empty()) {
      return base::failure(base::Code::kInvalid, "{}: {}", setting.variable, complaint);
    }
    take(setting.id, is_patterns ? split(text) : std::vector{text}, setting.variable);
  }
  return {};
}

base::Result<void> SettingValues::takeFile(const fs::path& path) {
  const std::string source = base::printable(path.native());
  const auto refused = [&source](const base::ConfigLine& line, std::string_view why) {
    return base::failure(base::Code::kInvalid, "{}: line {}: {}", source, line.number, why);
  };
  const base::Result<std::vector<base::ConfigLine>> lines = base::readConfigLines(path);
  if (!lines) return lines.failure();
  std::map<SettingId, std::vector<std::string>> found;
  for (const base::ConfigLine& line : *lines) {
    const auto* const setting = std::ranges::find(wire::kSettings, line.name, nameInFile);
    if (setting == std::end(wire::kSettings)) {
      std::vector<std::string_view> names;
      std::ranges::transform(wire::kSettings, std::back_inserter(names), nameInFile);
      return refused(line, fmt::format("unknown option \"{}\"; the options are {}",
                                       base::printable(line.name), fmt::join(names, ", ")));
    }
    std::vector<std::string>& words = found[setting->id];
    if (setting->type != SettingType::kPatterns && !words.empty()) {
      return refused(line, fmt::format("\"{}\" appears twice", line.name));
    }
    if (const std::string complaint = complaintAbout(*setting, line.value); !complaint.empty()) {
      return refused(line, fmt::format("{}: {}", line.name, complaint));
    }
    words.push_back(line.value);
  }
  for (auto& [id, words] : found) take(id, std::move(words), source);
  return {};
}

std::string SettingValues::variableOf(SettingId id) const {
  return wire::settingOf(id).type == SettingType::kPatterns ? joined(of(id).words) : word(id);
}

std::string SettingValues::fileText() const {
  std::string text;
  for (const Setting& setting : wire::kSettings) {
    const SettingValue& value = of(setting.id);
    text += fmt::format("# {}: {}\n", nameInFile(setting), fmt::join(value.sources, ", "));
    for (const std::string& word : value.words) {
      text += fmt::format("{} = '{}'\n", nameInFile(setting), word);
    }
  }
  return text;
}

std::optional<fs::path> findConfig(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  if (const std::string named = variable(wire::kConfigVariable); !named.empty()) return named;
  std::vector<fs::path> places;
  if (const fs::path home = variable("XDG_CONFIG_HOME"); home.is_absolute()) {
    places.push_back(home / "omnio/config.ini");
  } else if (const fs::path home_folder = variable("HOME"); home_folder.is_absolute()) {
    places.push_back(home_folder / ".config/omnio/config.ini");
  }
  places.emplace_back("/etc/omnio/config.ini");
  std::error_code error;
  for (const fs::path& place : places) {
    if (fs::exists(place, error)) return place;
  }
  return std::nullopt;
}

}  // namespace omnio::cli
