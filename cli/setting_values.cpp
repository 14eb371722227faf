#include "cli/setting_values.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/preload.hpp"
#include "core/printable.hpp"
#include "core/wire/setting_text.hpp"

namespace omnio::cli {
namespace {

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

}  // namespace

std::string complaintAbout(const Setting& setting, const std::string& word) {
  const auto complain = [&word](std::string_view what) {
    return fmt::format("\"{}\" {}", printable(word), what);
  };
  switch (setting.type) {
    case SettingType::kPath:
    case SettingType::kPatterns:
      return word.find('\0') == std::string::npos ? std::string() : complain("contains a NUL byte");
    case SettingType::kFlavour:
      if (isFlavour(word)) return {};
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
  if (wire::settingOf(id).type != SettingType::kPatterns) {
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

std::optional<Failure> SettingValues::takeEnvironment() {
  for (const Setting& setting : wire::kSettings) {
    const char* text = getenv(setting.variable);
    if (text == nullptr || *text == '\0') continue;
    if (setting.type == SettingType::kPatterns) {
      take(setting.id, split(text), setting.variable);
      continue;
    }
    const std::string complaint = complaintAbout(setting, text);
    if (!complaint.empty()) {
      return Failure{Code::kInvalid, fmt::format("{}: {}", setting.variable, complaint)};
    }
    take(setting.id, {text}, setting.variable);
  }
  return std::nullopt;
}

std::string SettingValues::variableOf(SettingId id) const {
  return wire::settingOf(id).type == SettingType::kPatterns ? joined(of(id).words) : word(id);
}

}  // namespace omnio::cli
