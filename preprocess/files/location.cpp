#include "preprocess/files/location.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/printable.hpp"
#include "core/event/memory_files.hpp"
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

}  // namespace

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
  const std::string place = lexicallyAbsolute(to).substr(1) + '/';
  if (model::isOnNode(place)) return refuse("what is below @node belongs to nodes");
  if (model::isInMemory(place)) return refuse("what is below @memory is memory of nodes");
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
  for (const std::string_view memory : event::kMemoryDirectories) {
    if (!event::isInMemory(memory, run)) continue;
    add(memory, fmt::format("{}{}", model::kMemoryName, memory));
  }
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
