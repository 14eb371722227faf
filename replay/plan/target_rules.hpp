// Which target each file of a schedule goes to: by the last --map that matches its recorded path,
// else by the "target" that the schedule names, else to the plain target. Calls that move or link a
// file from one tree to another are refused: no file system does that.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "replay/plan/plan.hpp"

namespace omnio::replay {

// Files whose recorded path the pattern matches (core/wire/path_pattern.hpp) go to the target.
struct TargetMap {
  std::string pattern;
  std::string target;  // "" is the plain one
};

// Calls of MPI-IO have names that are relative to the first tree, and whole paths in others.
inline constexpr std::string_view kColonInMpi =
    "MPI libraries take what stands before a colon in a whole path for the name of a file system";

struct TargetRules {
  std::vector<std::string> names{};  // of the targets, by number; "" is the plain one
  std::vector<TargetMap> maps{};
  // Files on nodes (model::isOnNode) go to kNodeTree, unless a map or the schedule names a target.
  bool has_node_trees = false;
};

// "the target scratch", "the plain target"
std::string targetText(std::string_view name);

// Takes the files of a schedule, and then its events.
class TreeChoice {
 public:
  using Complaint = std::optional<std::string>;

  explicit TreeChoice(TargetRules rules)
      : rules_(std::move(rules)), is_used_(rules_.maps.size(), false) {}

  // Sets the tree of the file.
  Complaint choose(PlannedFile& file);
  // Whether files lie in more trees than one.
  bool isSplit() const {
    return has_memory_ || rules_.names.size() + (rules_.has_node_trees ? 1 : 0) > 1;
  }
  // About a call that succeeded and gives a file another name. `files` are all of the schedule.
  Complaint checkNames(const model::ScheduleEvent& event, const std::vector<PlannedFile>& files);
  // About maps that match no file; after all files.
  Complaint checkMaps() const;

 private:
  std::string treeText(std::uint32_t tree) const;
  Complaint checkBelow(std::uint32_t directory, const std::vector<PlannedFile>& files);

  TargetRules rules_;
  bool has_memory_ = false;                 // files are in the memory of nodes
  std::vector<bool> is_used_;               // by map
  std::vector<std::uint32_t> by_location_;  // files, in the order of their locations
  std::unordered_set<std::uint32_t> checked_;
};

}  // namespace omnio::replay
