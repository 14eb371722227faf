#include "tests/support/slowfs/nodes.hpp"

#include <cerrno>
#include <cstdio>

namespace slowfs {
namespace {

constexpr std::uint64_t kRootId = 1;  // FUSE_ROOT_ID

}  // namespace

PathOfDescriptor::PathOfDescriptor(int fd) {
  std::snprintf(text_, sizeof text_, "/proc/self/fd/%d", fd);
}

NodeTable::NodeTable(Descriptor root) { root_.file = std::move(root); }

Node& NodeTable::of(std::uint64_t id) {
  return id == kRootId ? root_ : *reinterpret_cast<Node*>(static_cast<std::uintptr_t>(id));
}

NodeTable::Found NodeTable::lookUp(const Node& parent, const char* name) {
  return add(Descriptor(openat(parent.file.get(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC)));
}

NodeTable::Found NodeTable::lookUp(int fd) {
  return add(Descriptor(open(PathOfDescriptor(fd).text(), O_PATH | O_CLOEXEC)));
}

NodeTable::Found NodeTable::add(Descriptor file) {
  Found found;
  if (!file || fstatat(file.get(), "", &found.status, AT_EMPTY_PATH) != 0) {
    found.error = errno;
    return found;
  }
  const std::lock_guard lock(mutex_);
  // A node of a map stays where it is.
  Node& node = nodes_[{found.status.st_dev, found.status.st_ino}];
  if (node.lookups++ == 0) {
    node.file = std::move(file);
    node.device = found.status.st_dev;
    node.inode = found.status.st_ino;
  }
  found.id = reinterpret_cast<std::uintptr_t>(&node);
  return found;
}

void NodeTable::forget(std::uint64_t id, std::uint64_t lookups) {
  if (id == kRootId) return;
  const std::lock_guard lock(mutex_);
  Node& node = of(id);
  node.lookups -= lookups;
  if (node.lookups == 0) nodes_.erase({node.device, node.inode});
}

}  // namespace slowfs
