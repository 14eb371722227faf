// The file systems of the nodes: which names of a path a file system is asked for, and which nodes
// have a file in common where several have one of the same path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mount_points.hpp"

namespace omnio::preprocess {

using base::Mount;
using base::MountPoints;

// A text that no other file system has, on whatever node it is. A network file system is known by
// its type and source: it has another device number on each node. Any other is the node's own, or
// is shared by containers of one machine, which have its device and boot id. Empty where the device
// is not known.
std::string identityOf(const Mount& mount, std::string_view boot);

// How many names of the path lie below the mount point that holds it: a file system is asked for
// these alone.
std::size_t namesBelow(const MountPoints& mounts, std::string_view absolute);

// How many names a path made the system look up (ScheduleEvent::lookups): of a relative one all of
// its own, of an absolute one those below the mount point. `raw` is the path as the application
// gave it, `location` where it lies below the target.
std::uint16_t lookupsOf(std::string_view raw, std::string_view location, const MountPoints& mounts);
// How many names the text of a symbolic link has; model::kAllLookups of an absolute one.
std::uint16_t linkLookups(std::string_view text);

// The nodes of a job.
class NodeMounts {
 public:
  struct Node {
    std::string host;
    std::string boot;      // of its kernel
    std::string mounts{};  // text of /proc/self/mountinfo or mounts; empty: not known
  };
  // `shared`: absolute paths of directories below which all nodes have the same files, whatever is
  // mounted there.
  explicit NodeMounts(const std::vector<Node>& nodes, const std::vector<std::string>& shared = {});

  const MountPoints& of(std::size_t node) const { return nodes_[node].points; }
  // "" where all nodes have the same file system there; else the host that stands for those which
  // have the one that this node has: the first of them.
  std::string_view ownerOf(std::size_t node, std::string_view absolute) const;

 private:
  struct Known {
    MountPoints points;
    std::vector<std::string> owners;  // by place in points.mounts()
  };
  std::vector<Known> nodes_;
  std::vector<std::string> shared_;
  bool all_is_shared_ = true;
};

}  // namespace omnio::preprocess
