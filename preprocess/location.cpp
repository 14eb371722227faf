#include "preprocess/location.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/printable.hpp"
#include "core/model/schedule.hpp"

namespace omnio::preprocess {
namespace {

// The parts of a path, with "." and ".." worked off; ".." above the top stays at the top.
std::vector<std::string_view> partsOf(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    at = end + 1;
  }
  return parts;
}

std::string joined(std::string_view before, std::string_view after) {
  if (before.empty() || after.empty()) return std::string(before.empty() ? after : before);
  return fmt::format("{}/{}", before, after);
}

// A name of /proc/self/mounts, in which blanks and the like are written as three octal digits.
std::string unescaped(std::string_view name) {
  std::string text;
  const auto digit = [name](std::size_t at) { return at < name.size() ? name[at] - '0' : -1; };
  for (std::size_t at = 0; at < name.size(); ++at) {
    const int a = digit(at + 1);
    const int b = digit(at + 2);
    const int c = digit(at + 3);
    const bool is_escaped =
        name[at] == '\\' && a >= 0 && a < 4 && b >= 0 && b < 8 && c >= 0 && c < 8;
    text += is_escaped ? static_cast<char>(a << 6 | b << 3 | c) : name[at];
    if (is_escaped) at += 3;
  }
  return text;
}

// Names that a path has the system look up: of "." and ".." it knows the directory already.
std::size_t namesIn(std::string_view path) {
  std::size_t names = 0;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    names += !part.empty() && part != "." && part != ".." ? 1 : 0;
    at = end + 1;
  }
  return names;
}

bool holds(std::string_view directory, std::string_view path) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace

MountPoints::MountPoints(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t name = line.find(' ') + 1;
    const std::size_t behind = line.find(' ', name);
    if (name == 0 || behind == std::string_view::npos) continue;
    const std::string point = unescaped(line.substr(name, behind - name));
    if (point.starts_with('/')) points_.push_back(point == "/" ? std::string() : point);
  }
  std::stable_sort(points_.begin(), points_.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

std::size_t MountPoints::namesBelow(std::string_view absolute) const {
  const std::string path = lexicallyAbsolute(absolute);
  for (const std::string& point : points_) {
    if (holds(point, path)) return namesIn(std::string_view(path).substr(point.size()));
  }
  return namesIn(path);
}

std::uint16_t lookupsOf(std::string_view raw, std::string_view location,
                        const MountPoints& mounts) {
  const bool is_absolute = raw.starts_with('/');
  if (is_absolute && !mounts.isKnown()) return model::kAllLookups;
  const std::size_t names = is_absolute ? mounts.namesBelow(raw) : namesIn(raw);
  if (names == namesIn(location)) return model::kAllLookups;
  return static_cast<std::uint16_t>(std::min<std::size_t>(names, model::kMostLookups));
}

std::string lexicallyAbsolute(std::string_view absolute) {
  std::string result;
  for (const std::string_view part : partsOf(absolute)) {
    result += '/';
    result += part;
  }
  return result.empty() ? "/" : result;
}

base::Result<MapRule> parseMapRule(std::string_view text) {
  const auto refuse = [text](std::string_view why) {
    return base::failure(base::Code::kInvalid, "--map {}: {}", base::printable(text), why);
  };
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) return refuse("has to be FROM=TO");
  const std::string_view from = text.substr(0, equals);
  const std::string_view to = text.substr(equals + 1);
  if (from.empty() || from.front() != '/') return refuse("FROM has to be an absolute path");
  if (!to.empty() && to.front() == '/') return refuse("TO has to be relative to the target");
  if (fmt::format("/{}/", to).find("/../") != std::string::npos) {
    return refuse("TO leads out of the target");
  }
  const std::string absolute = lexicallyAbsolute(from);
  return MapRule{.from = absolute == "/" ? "" : absolute, .to = lexicallyAbsolute(to).substr(1)};
}

LocationMap::LocationMap(std::vector<MapRule> rules, std::string_view directory)
    : rules_(std::move(rules)) {
  const auto add = [this](std::string_view from, std::string_view to) {
    for (const MapRule& rule : rules_) {
      if (rule.from == from) return;
    }
    rules_.push_back({std::string(from), std::string(to)});
  };
  const std::string run = lexicallyAbsolute(directory);
  // A program that ran in "/" has all of the system below its directory.
  if (run != "/") add(run, "");
  add("", "@root");
  std::stable_sort(rules_.begin(), rules_.end(), [](const MapRule& a, const MapRule& b) {
    return a.from.size() > b.from.size();
  });
}

std::string LocationMap::locationOf(std::string_view absolute) const {
  const std::string path = lexicallyAbsolute(absolute);
  for (const MapRule& rule : rules_) {
    if (!path.starts_with(rule.from)) continue;
    const std::string_view rest = std::string_view(path).substr(rule.from.size());
    if (!rest.empty() && rest.front() != '/') continue;
    const std::string location = joined(rule.to, rest.empty() ? rest : rest.substr(1));
    return location.empty() ? "." : location;
  }
  return ".";  // not reached: the rule of "@root" fits every path
}

}  // namespace omnio::preprocess
