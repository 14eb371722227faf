// The directory of a target that a replay works in: TARGET/tree, fresh for each. A marker file
// beside it says that the target is ours; a directory that holds anything else is not touched. The
// tree of a target that was adopted (adopt.hpp) keeps its directories.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace omnio::replay {

inline constexpr const char* kTreeName = "tree";
inline constexpr const char* kMarkerName = ".omnio-replay";
// Inputs that are kept for the next replay (kept.hpp): where the old tree is while the new one is
// made, the note about them, and the name of that until it is complete.
inline constexpr const char* kKeptName = ".omnio-kept";
inline constexpr const char* kInputsName = ".omnio-inputs";
inline constexpr const char* kNewInputsName = ".omnio-inputs.new";
// How the name of a file begins that a node leaves in its own directory for a moment.
inline constexpr const char* kNodeMark = ".omnio-node.";

// Makes the target and an empty tree in it, or takes one of directories alone where the target was
// adopted; what an earlier replay left is removed if `fresh`, else refused. Returns the tree's
// absolute path, without links in it. `keeps`: a tree with inputs that are to be kept is put aside
// (kept.hpp). One process of a replay does this.
base::Result<std::filesystem::path> makeTree(const std::filesystem::path& target, bool fresh,
                                             bool keeps = false);
// What a user can do about an error of a target: "; name a target with more room", or nothing.
std::string_view remedyFor(int error);
// Takes away again what makeTree() has made in the target.
void removeTree(const std::filesystem::path& target);
// Fails as makeTree would, without changing anything.
base::Result<void> checkTarget(const std::filesystem::path& target, bool fresh);

// The tree, open. Every name is looked up beneath it, and no link is followed on the way, so
// nothing outside can be reached whatever stands in the tree.
class Tree {
 public:
  static base::Result<Tree> open(const std::filesystem::path& path);

  Tree(Tree&& other) noexcept;
  Tree& operator=(Tree&&) = delete;
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree();

  const std::filesystem::path& path() const { return path_; }
  int fd() const { return fd_; }
  // Whether directories may be there that the run makes.
  bool isAdopted() const { return is_adopted_; }
  // The absolute path of a location.
  std::string pathOf(const std::string& location) const;
  // Below the tree, by location; -1 and errno when it cannot be. `flags` as of open(2).
  int openFile(const std::string& location, int flags, unsigned mode = 0) const;
  // The directory and all above it; 0, or errno.
  int makeDirectories(const std::string& location) const;

 private:
  Tree(std::filesystem::path path, int fd);

  std::filesystem::path path_;
  int fd_ = -1;
  bool is_adopted_ = false;
};

// Fences a thread off from everything but the trees, where the kernel has Landlock: a second line
// behind the paths, which are all below the tree already.
class Fence {
 public:
  // Reading is left free; writing, making, removing and truncating are left to what lies below
  // `writable`. Paths that are not there are passed over. Without any it lets all through.
  explicit Fence(const std::vector<std::filesystem::path>& writable);
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  ~Fence();

  // Holds for the calling thread alone, and for good. False when there is a fence and the thread is
  // not behind it.
  bool enter() const;
  // "landlock ABI 7", or "paths only" where the kernel offers no fence.
  std::string name() const;

 private:
  int ruleset_ = -1;
  int abi_ = 0;
};

}  // namespace omnio::replay
