// The mount points of a node, as /proc/self/mountinfo has them (proc(5)), and which of them holds a
// path. Paths are compared by their text: who has links in them resolves these first.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace omnio::base {

// One line of /proc/self/mountinfo.
struct Mount {
  std::string point;   // "" is the root
  std::string root;    // the directory of the file system that is seen there
  std::string device;  // "major:minor"; empty where it is not known
  std::string type;    // "ext4", "fuse.glusterfs"
  std::string source;
};

class MountPoints {
 public:
  // The text of /proc/self/mountinfo, or of /proc/self/mounts, which does not tell devices; empty
  // where it is not known.
  explicit MountPoints(std::string_view text);

  bool isKnown() const { return !mounts_.empty(); }
  const std::vector<Mount>& mounts() const { return mounts_; }
  // The index in mounts() of the one that holds the path, which is lexically absolute; mounts()'s
  // size where none is known to.
  std::size_t holding(std::string_view path) const;

 private:
  // Longest point first. Of several at one point the last one is seen.
  std::vector<Mount> mounts_;
};

// A name as the kernel writes it in lists of mounts: there blanks and the like are three octal
// digits ("\040").
std::string mountName(std::string_view name);

// Whether the path is that of the directory, or of something in it; by the text of both. The root
// is "".
bool isWithin(std::string_view directory, std::string_view path);

// The mount point of this node that holds the file or directory, links resolved; nothing where that
// cannot be looked up.
std::optional<Mount> mountHolding(const std::filesystem::path& path);

}  // namespace omnio::base
