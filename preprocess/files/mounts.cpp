#include "preprocess/files/mounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/model/schedule.hpp"
#include "core/wire/info.hpp"
#include "preprocess/files/location.hpp"

namespace omnio::preprocess {
namespace {

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

// File systems that a node has for itself. Of others, and of those in user space that this does not
// tell, the source says which they are.
bool isOwnOfNode(std::string_view type, std::string_view source) {
  constexpr std::string_view kLocal[] = {"ext2",         "ext3",     "ext4",
                                         "xfs",          "btrfs",    "zfs",
                                         "f2fs",         "jfs",      "reiserfs",
                                         "nilfs2",       "bcachefs", "tmpfs",
                                         "ramfs",        "rootfs",   "overlay",
                                         "aufs",         "squashfs", "erofs",
                                         "iso9660",      "vfat",     "exfat",
                                         "ntfs3",        "ecryptfs", "fuseblk",
                                         "devtmpfs",     "proc",     "sysfs",
                                         "cgroup",       "cgroup2",  "devpts",
                                         "hugetlbfs",    "mqueue",   "fuse.fuse-overlayfs",
                                         "fuse.mergerfs"};
  constexpr std::string_view kShared[] = {
      "fuse.glusterfs", "fuse.ceph",   "fuse.ceph-fuse", "fuse.juicefs",       "fuse.daos",
      "fuse.dfuse",     "fuse.mfs",    "fuse.lizardfs",  "fuse.saunafs",       "fuse.s3fs",
      "fuse.gcsfuse",   "fuse.goofys", "fuse.blobfuse2", "fuse.mountpoint-s3", "fuse.cvmfs2"};
  constexpr std::string_view kSharedSources[] = {"cvmfs2", "mountpoint-s3", "blobfuse2"};
  if (std::ranges::find(kLocal, type) != std::end(kLocal)) return true;
  if (!type.starts_with("fuse")) return false;
  // sshfs and the like name the host that they are of.
  const bool names_remote = source.find(':') != std::string_view::npos;
  return std::ranges::find(kShared, type) == std::end(kShared) &&
         std::ranges::find(kSharedSources, source) == std::end(kSharedSources) && !names_remote;
}

// Mounts something else there when it is first wanted, which the list does not have yet.
bool mountsLater(const Mount& mount) { return mount.type == "autofs"; }

}  // namespace

std::string identityOf(const Mount& mount, std::string_view boot) {
  const auto& [point, root, device, type, source] = mount;
  if (device.empty()) return {};
  return isOwnOfNode(type, source) ? fmt::format("{} {} {}", boot, device, root)
                                   : fmt::format("{} {} {}", type, source, root);
}

std::size_t namesBelow(const MountPoints& mounts, std::string_view absolute) {
  const std::string path = lexicallyAbsolute(absolute);
  const std::size_t index = mounts.holding(path);
  const std::size_t above =
      index < mounts.mounts().size() ? mounts.mounts()[index].point.size() : 0;
  return namesIn(std::string_view(path).substr(above));
}

std::uint16_t lookupsOf(std::string_view raw, std::string_view location,
                        const MountPoints& mounts) {
  const bool is_absolute = raw.starts_with('/');
  if (is_absolute && !mounts.isKnown()) return model::kAllLookups;
  const std::size_t names = is_absolute ? namesBelow(mounts, raw) : namesIn(raw);
  if (names == namesIn(location)) return model::kAllLookups;
  return static_cast<std::uint16_t>(std::min<std::size_t>(names, model::kMostLookups));
}

std::uint16_t linkLookups(std::string_view text) {
  if (text.empty() || text.starts_with('/')) return model::kAllLookups;
  return static_cast<std::uint16_t>(std::min<std::size_t>(namesIn(text), model::kMostLookups));
}

NodeMounts::NodeMounts(const std::vector<Node>& nodes, const std::vector<std::string>& shared) {
  for (const std::string& directory : shared) {
    const std::string absolute = lexicallyAbsolute(directory);
    shared_.push_back(absolute == "/" ? std::string() : absolute);
  }
  // By point and file system: the first host that has it there, and how many have.
  struct Holders {
    std::string_view first;
    std::size_t count = 0;
  };
  std::map<std::pair<std::string_view, std::string>, Holders> holders;
  // By point: on how many nodes nothing is mounted there yet, but may be when it is wanted, by an
  // automounter or a network file system that has others below it.
  std::map<std::string_view, std::size_t> later;
  std::size_t known = 0;
  for (const Node& node : nodes) {
    const bool is_cut = node.mounts.size() + 1 >= wire::info::kMostMountBytes;
    nodes_.push_back({MountPoints(is_cut ? std::string_view() : node.mounts), {}});
    known += nodes_.back().points.isKnown() ? 1 : 0;
  }
  const auto each = [&](auto use) {
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const Mount* before = nullptr;
      for (const Mount& mount : nodes_[n].points.mounts()) {
        // Another one hides it.
        const bool is_seen = before == nullptr || before->point != mount.point;
        before = &mount;
        if (is_seen) use(n, mount, holders[{mount.point, identityOf(mount, nodes[n].boot)}]);
      }
    }
  };
  each([&](std::size_t n, const Mount& mount, Holders& of) {
    if (of.count++ == 0) of.first = nodes[n].host;
    if (!isOwnOfNode(mount.type, mount.source) && !mountsLater(mount)) {
      later.emplace(mount.point, 0);
    }
  });
  for (auto& [point, count] : later) {
    for (const Known& node : nodes_) {
      const std::size_t place = node.points.holding(point);
      if (place == node.points.mounts().size()) continue;
      const Mount& above = node.points.mounts()[place];
      const bool is_there = above.point == point;
      const bool may_come = is_there ? mountsLater(above)
                                     : mountsLater(above) || !isOwnOfNode(above.type, above.source);
      count += may_come ? 1 : 0;
    }
  }
  for (Known& node : nodes_) node.owners.resize(node.points.mounts().size());
  each([&](std::size_t n, const Mount& mount, const Holders& of) {
    const auto place = static_cast<std::size_t>(&mount - nodes_[n].points.mounts().data());
    const bool is_own = isOwnOfNode(mount.type, mount.source);
    const auto others = is_own ? later.end() : later.find(mount.point);
    const std::size_t agreeing = of.count + (others == later.end() ? 0 : others->second);
    if (agreeing >= known || mount.device.empty() || mountsLater(mount)) return;
    nodes_[n].owners[place] = of.first;
    all_is_shared_ = false;
  });
}

std::string_view NodeMounts::ownerOf(std::size_t node, std::string_view absolute) const {
  if (all_is_shared_) return {};
  const Known& known = nodes_[node];
  const std::string path = lexicallyAbsolute(absolute);
  for (const std::string& directory : shared_) {
    if (base::isWithin(directory, path)) return {};
  }
  const std::size_t place = known.points.holding(path);
  return place < known.owners.size() ? std::string_view(known.owners[place]) : std::string_view();
}

}  // namespace omnio::preprocess
