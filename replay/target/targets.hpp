// The targets of a replay, as --target and --map name them: directories that each have a tree of
// their own (tree.hpp).
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "replay/plan/plan.hpp"
#include "replay/plan/target_rules.hpp"
#include "replay/target/prepare.hpp"
#include "replay/target/trees.hpp"

namespace omnio::replay {

struct Target {
  std::string name{};  // "": the plain one
  std::filesystem::path directory;
};
// By the numbers that files have (PlannedFile::tree); the plain one, if there is one, is the first.
using Targets = std::vector<Target>;

// Absolute, without "." and "..", and without a slash at its end.
std::filesystem::path wholePath(const std::filesystem::path& path);

// Reads the words of --target: DIR or NAME=DIR. A word that begins with / or . is a directory. The
// directories become whole paths. Fails with a sentence that names the word.
base::Result<Targets> readTargets(const std::vector<std::string>& words);
// Adds those with a directory that the schedule names in "targets", unless they were given. A
// schedule that cannot be read adds none: it is refused later.
void addTargetsOf(const std::filesystem::path& schedule, Targets& targets);
// Reads the words of --map, PATTERN=NAME:, in their order.
base::Result<std::vector<TargetMap>> readTargetMaps(const std::vector<std::string>& words,
                                                    const Targets& targets);
// The word of --target again.
std::string wordOf(const Target& target);

// Fails where two targets are one directory or lie in each other, or where makeTrees() would fail
// for what a target holds. Changes nothing.
base::Result<void> checkTargets(const Targets& targets, bool fresh);
// Fails where a path lies in a target; `what` says what it is: "the output".
base::Result<void> checkOutside(const Targets& targets, const std::filesystem::path& path,
                                std::string_view what);
// The parts of a target that --fresh removes or takes back: the tree, and inputs that were put
// aside.
std::vector<std::filesystem::path> removedIn(const std::filesystem::path& target);
// Fails where the files of the plan do not fit into the targets. Targets on one file system share
// its room.
base::Result<void> checkTargetsRoom(const Targets& targets, const Plan& plan);
// Whether files of the plan go to the directory that each node has for itself.
bool usesNodeTree(const std::filesystem::path& node_local, const Plan& plan);
// The room that files of the plan need on the file system of a node's own directory, `is_on_node`
// those in it; and those of targets on the same file system with them.
RoomNeeded roomNeededOnNode(const Targets& targets, const std::filesystem::path& node_local,
                            const Plan& plan, const std::function<bool(std::size_t)>& is_on_node);
// The same of all targets on the file system of the directory.
std::vector<std::filesystem::path> targetTreesBeside(const Targets& targets,
                                                     const std::filesystem::path& directory);
// Makes all trees (makeTree), or none. Returns the path of the first.
base::Result<std::filesystem::path> makeTrees(const Targets& targets, bool fresh,
                                              bool keeps = false);
void removeTrees(const Targets& targets);
// The paths of the trees, which makeTrees() has made: the first is `first`.
base::Result<std::vector<std::filesystem::path>> treesOf(const Targets& targets,
                                                         const std::filesystem::path& first);
// Before any directory is made: notes in adopted targets which ones the replay makes there.
base::Result<void> noteDirectories(const Targets& targets, const Plan& plan, const Trees& trees);
// The same for the directory that a node has for itself.
base::Result<void> noteDirectoriesOnNode(const std::filesystem::path& node_local, const Plan& plan,
                                         const Tree& tree,
                                         const std::function<bool(std::size_t)>& is_on_node);
// A sentence for each target with a name, and for the directory of the nodes, to which no file of
// the plan goes.
std::vector<std::string> unusedTargets(const Targets& targets,
                                       const std::filesystem::path& node_local, const Plan& plan);

}  // namespace omnio::replay
