// Where the files of an application come to lie below the target of a replay.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace omnio::preprocess {

// FROM=TO: what lies below FROM, an absolute path, goes below TO, a location.
struct MapRule {
  std::string from;
  std::string to;  // "" is the target itself
};

// Fails with a sentence that names the text.
base::Result<MapRule> parseMapRule(std::string_view text);

class LocationMap {
 public:
  // Besides the rules: what lies below `directory`, where the application ran, keeps its relative
  // path; what was in memory (core/event/memory_files.hpp) goes below "@memory" with its absolute
  // path, and all else below "@root". The rule with the longest FROM wins.
  LocationMap(std::vector<MapRule> rules, std::string_view directory);

  // "a/b" for an absolute path; never empty, absolute, or with ".." in it. "." for the target
  // itself.
  std::string locationOf(std::string_view absolute) const;

 private:
  std::vector<MapRule> rules_;  // longest FROM first
};

// The absolute path without "." and "..", resolved as text: which directory a ".." behind a
// symbolic link leads to, only the traced system knew.
std::string lexicallyAbsolute(std::string_view absolute);

}  // namespace omnio::preprocess
