// Targets that were made by hand before a replay, with stripes, quotas or project ids: a marker
// file allows a replay to work in them. Their directories stay, with inode and attributes; a replay
// refuses or removes files alone, and directories that a replay has made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "core/base/result.hpp"
#include "replay/target/tree.hpp"

namespace omnio::replay {

inline constexpr const char* kAdoptedMarker = ".omnio-adopted";

bool isAdopted(const std::filesystem::path& target);

struct Adoption {
  bool was_adopted = false;       // before
  bool has_tree = false;          // else the first replay makes it
  std::uint64_t directories = 0;  // in the tree
};
// Leaves the marker in a directory that holds nothing but, perhaps, a tree of directories or that
// of an earlier replay. Changes nothing else.
base::Result<Adoption> adoptTarget(const std::filesystem::path& target);

// Refuses a target where a directory is mounted on the tree or in it, or in trees that were put
// aside. Such a tree cannot be removed: the files of what is mounted would be gone, and the mount
// point would not.
base::Result<void> checkOneFileSystem(const std::filesystem::path& target);

// What a replay left in the tree of an adopted target: the path of a file, or of a directory that
// it made; empty where nothing is left.
base::Result<std::filesystem::path> leftIn(const std::filesystem::path& target);
// Removes that. A directory that holds others goes on to exist.
base::Result<void> removeLeft(const std::filesystem::path& target);
// Writes down in the target's marker which of these directories are not in the tree yet, so that
// the replay will make them.
base::Result<void> noteNewDirectories(const std::filesystem::path& target, const Tree& tree,
                                      const std::set<std::string, std::less<>>& locations);

}  // namespace omnio::replay
