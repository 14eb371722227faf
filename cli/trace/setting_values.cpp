#include "cli/trace/setting_values.hpp"

#include <fmt/format.h>
#include <rapidjson/encodings.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <stdlib.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/trace/preload.hpp"
#include "core/base/json_units.hpp"
#include "core/base/printable.hpp"
#include "core/wire/settings.hpp"

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
    return fmt::format("\"{}\" {}", base::printable(word), what);
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

std::optional<base::Failure> SettingValues::takeEnvironment() {
  for (const Setting& setting : wire::kSettings) {
    const char* text = getenv(setting.variable);
    if (text == nullptr || *text == '\0') continue;
    if (setting.type == SettingType::kPatterns) {
      take(setting.id, split(text), setting.variable);
      continue;
    }
    const std::string complaint = complaintAbout(setting, text);
    if (!complaint.empty()) {
      return base::Failure{base::Code::kInvalid,
                           fmt::format("{}: {}", setting.variable, complaint)};
    }
    take(setting.id, {text}, setting.variable);
  }
  return std::nullopt;
}

std::string SettingValues::variableOf(SettingId id) const {
  return wire::settingOf(id).type == SettingType::kPatterns ? joined(of(id).words) : word(id);
}

namespace {

namespace fs = std::filesystem;
using base::JsonNode;
using wire::Setting;
using wire::SettingType;

constexpr std::string_view kFormat = "omnio-config";
constexpr std::int64_t kVersion = 1;
constexpr std::string_view kWalked = "/trace";
constexpr std::string_view kSources = "/sources";

// How many letters have to be changed, added or left out to come from one word to the other.
std::size_t distanceBetween(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({changed, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

std::string_view nearestKey(std::string_view key) {
  const auto nearest =
      std::min_element(std::begin(wire::kSettings), std::end(wire::kSettings),
                       [key](const Setting& a, const Setting& b) {
                         return distanceBetween(key, a.key) < distanceBetween(key, b.key);
                       });
  return nearest->key;
}

class ConfigUnits : public base::JsonUnits {
 public:
  ConfigUnits(const fs::path& path, SettingValues& values)
      : source_(base::printable(path.native())), values_(values) {}

  bool isWalked(std::string_view path) const override { return path.empty() || path == kWalked; }
  Verdict enter(std::string_view path) override { return once(path); }
  Verdict leave(std::string_view path) override {
    if (!path.empty()) return std::nullopt;
    if (!format_known_) {
      return Complaint{
          fmt::format("not a configuration file: it has no \"format\": \"{}\"", kFormat)};
    }
    if (version_known_) return std::nullopt;
    return Complaint{fmt::format("it has no \"version\": {}", kVersion)};
  }

  Verdict unit(std::string_view path, const JsonNode& node) override {
    if (Verdict twice = once(path)) return twice;
    if (path == "/format") {
      if (node.text != kFormat) {
        return Complaint{fmt::format("not a configuration file: \"format\" is not \"{}\"", kFormat),
                         node.place};
      }
      format_known_ = true;
      return std::nullopt;
    }
    if (path == "/version") {
      version_known_ = node.kind == JsonNode::Kind::kInteger && node.integer == kVersion;
      if (version_known_) return std::nullopt;
      return Complaint{fmt::format("\"version\" has to be {}", kVersion), node.place};
    }
    if (path == kSources) return std::nullopt;  // --dump-config tells them; they are no setting
    constexpr std::string_view kInTrace = "/trace/";
    if (!path.starts_with(kInTrace)) {
      return Complaint{
          fmt::format("unknown key \"{}\"; there are \"format\", \"version\" and "
                      "\"trace\"",
                      base::printable(path.substr(std::min<std::size_t>(1, path.size())))),
          node.place};
    }
    return setting(path.substr(kInTrace.size()), node);
  }

 private:
  Verdict once(std::string_view path) {
    if (seen_.insert(std::string(path)).second) return std::nullopt;
    return Complaint{fmt::format("\"{}\" appears twice in one object",
                                 base::printable(path.substr(path.rfind('/') + 1)))};
  }

  Verdict setting(std::string_view key, const JsonNode& node) {
    const auto* const found =
        std::find_if(std::begin(wire::kSettings), std::end(wire::kSettings),
                     [key](const Setting& setting) { return setting.key == key; });
    if (found == std::end(wire::kSettings)) {
      return Complaint{fmt::format("unknown key \"{}\"; the nearest known one is \"{}\"",
                                   base::printable(key), nearestKey(key)),
                       node.place};
    }
    std::vector<std::string> words;
    if (found->type != SettingType::kPatterns) {
      words.emplace_back();
      if (Verdict verdict = word(*found, node, words.back())) return verdict;
    } else if (node.kind != JsonNode::Kind::kArray) {
      return kindOf(*found, node, "a list of texts");
    } else {
      for (const JsonNode& item : node.items) {
        words.emplace_back();
        if (Verdict verdict = word(*found, item, words.back())) return verdict;
      }
    }
    values_.take(found->id, std::move(words), source_);
    return std::nullopt;
  }

  static Verdict kindOf(const Setting& setting, const JsonNode& node, std::string_view wanted) {
    return Complaint{fmt::format("\"{}\" has to be {}, not {}", setting.key, wanted,
                                 JsonNode::nameOf(node.kind)),
                     node.place};
  }

  static Verdict word(const Setting& setting, const JsonNode& node, std::string& into) {
    using Kind = JsonNode::Kind;
    const bool is_number = node.kind == Kind::kInteger;
    if (setting.type == SettingType::kSwitch) {
      if (node.kind != Kind::kBool) return kindOf(setting, node, "true or false");
      into = node.integer != 0 ? "yes" : "no";
      return std::nullopt;
    }
    const bool may_be_number =
        setting.type == SettingType::kSize || setting.type == SettingType::kSignal;
    if (node.kind != Kind::kString && !(is_number && may_be_number)) {
      return kindOf(setting, node, may_be_number ? "a text or a whole number" : "a text");
    }
    into = is_number ? fmt::format("{}", node.integer) : node.text;
    const std::string complaint = complaintAbout(setting, into);
    if (complaint.empty()) return std::nullopt;
    return Complaint{fmt::format("\"{}\": {}", setting.key, complaint), node.place};
  }

  std::string source_;
  SettingValues& values_;
  std::set<std::string> seen_;
  bool format_known_ = false;
  bool version_known_ = false;
};

const char* variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

bool isUtf8(std::string_view text) {
  rapidjson::MemoryStream in(text.data(), text.size());
  rapidjson::StringBuffer sink;
  while (in.Tell() < text.size()) {
    if (!rapidjson::UTF8<>::Validate(in, sink)) return false;
  }
  return true;
}

// What JSON cannot hold is written as it would be shown, and cannot be read back.
void putText(rapidjson::PrettyWriter<rapidjson::StringBuffer>& out, std::string_view text) {
  const std::string readable = isUtf8(text) ? std::string(text) : base::printable(text);
  out.String(readable.data(), static_cast<rapidjson::SizeType>(readable.size()));
}

}  // namespace

std::optional<fs::path> findConfig(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  if (const char* named = variable(wire::kConfigVariable); *named != '\0') return named;
  std::vector<fs::path> places;
  if (const fs::path home = variable("XDG_CONFIG_HOME"); home.is_absolute()) {
    places.push_back(home / "omnio/config.json");
  } else if (const fs::path home_folder = variable("HOME"); home_folder.is_absolute()) {
    places.push_back(home_folder / ".config/omnio/config.json");
  }
  places.emplace_back("/etc/omnio/config.json");
  std::error_code error;
  for (const fs::path& place : places) {
    if (fs::exists(place, error)) return place;
  }
  return std::nullopt;
}

std::optional<base::Failure> readConfig(const fs::path& path, SettingValues& values) {
  ConfigUnits units(path, values);
  return base::readJsonUnits(path, units);
}

std::string configText(const SettingValues& values) {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> out(buffer);
  out.SetIndent(' ', 2);
  out.StartObject();
  out.Key("format");
  putText(out, kFormat);
  out.Key("version");
  out.Int64(kVersion);
  out.Key("trace");
  out.StartObject();
  for (const Setting& setting : wire::kSettings) {
    out.Key(setting.key);
    if (setting.type == SettingType::kPatterns) {
      out.StartArray();
      for (const std::string& pattern : values.of(setting.id).words) putText(out, pattern);
      out.EndArray();
    } else if (setting.type == SettingType::kSwitch) {
      out.Bool(*wire::parseSwitch(values.word(setting.id)));
    } else {
      putText(out, values.word(setting.id));
    }
  }
  out.EndObject();
  out.Key("sources");
  out.StartObject();
  for (const Setting& setting : wire::kSettings) {
    out.Key(setting.key);
    std::string sources;
    for (const std::string& source : values.of(setting.id).sources) {
      sources += sources.empty() ? source : ", " + source;
    }
    putText(out, sources);
  }
  out.EndObject();
  out.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace omnio::cli
