// The names that the files of a replay have in the application that it replays.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace omnio::report {

// All names are text (core/base/printable.hpp). May be shared by threads.
class ReplayNames {
 public:
  // From the report of the replay in its trace directory, and from its schedule where that is still
  // there. Nothing: the trace is not that of a replay, or its report cannot be read.
  static std::optional<ReplayNames> read(const std::filesystem::path& trace);

  // For tests. `trees`: the directories that the schedule's locations are relative to; `sources`:
  // by location.
  ReplayNames(std::vector<std::string> trees, std::map<std::string, std::string> sources);

  // The path in the application: absolute, or relative to the directory where the application ran.
  // Nothing: the path is not below a tree of the replay.
  std::optional<std::string> of(std::string_view path) const;

 private:
  std::vector<std::string> trees_;
  std::map<std::string, std::string, std::less<>> sources_;
};

}  // namespace omnio::report
