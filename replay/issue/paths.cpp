#include "replay/issue/paths.hpp"

#include <linux/stat.h>
#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "replay/issue/libc.hpp"

namespace omnio::replay {
namespace {

// A path has a few names; an edited schedule may ask for any number.
constexpr std::size_t kMostAbove = 64;
// Others are opened when they are needed.
constexpr std::size_t kMostBases = 256;

// Whether a file system is mounted there, so that names above are those of another one.
bool isMountPoint(int directory) {
  struct statx facts {};
  if (raw::systemCall(SYS_statx, directory, "", AT_EMPTY_PATH, STATX_INO, &facts) != 0) return true;
  // Kernels before 5.8 do not say; the inode of most roots does not tell either.
  if ((facts.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0) return true;
  return (facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

std::size_t namesIn(std::string_view location) {
  if (location == ".") return 0;
  return static_cast<std::size_t>(std::count(location.begin(), location.end(), '/')) + 1;
}

// Where the last `names` names of a location begin, of which it has more.
std::size_t beginOfLast(std::string_view location, std::size_t names) {
  std::size_t at = location.size();
  for (std::size_t i = 0; i < names; ++i) at = location.rfind('/', at - 1);
  while (at < location.size() && location[at] == '/') ++at;
  return at;
}

}  // namespace

Paths::Paths(const Plan& plan, std::string tree, const std::vector<std::uint32_t>& ranks,
             const std::string& on_node)
    : plan_(plan), path_(std::move(tree)) {
  base::Result<Tree> opened = Tree::open(path_, on_node);
  if (!opened) return;
  tree_.emplace(std::move(*opened));
  for (const std::uint32_t rank : ranks) {
    for (const std::string& location : plan.ranks[rank].bases) {
      if (bases_.size() >= kMostBases || bases_.contains(location)) continue;
      const int fd = tree_->openFile(location, O_PATH | O_DIRECTORY);
      if (fd >= 0) bases_.emplace(location, fd);
    }
  }
  openAbove();
}

void Paths::openAbove() {
  // In a chroot the root is its own parent, and need not be a mount point.
  const auto parents = static_cast<std::size_t>(std::count(path_.begin(), path_.end(), '/'));
  const std::size_t most = std::min(parents, kMostAbove);
  for (int at = tree_->fd(); !isMountPoint(at) && above_.size() < most; at = above_.back()) {
    const int fd = raw::openAt(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    above_.push_back(fd);
  }
}

Paths::~Paths() {
  for (const auto& [location, fd] : bases_) raw::closeFd(fd);
  for (const int fd : above_) raw::closeFd(fd);
}

const PlannedFile* Paths::planned(std::uint32_t file) const {
  return file < plan_.files.size() ? &plan_.files[file] : nullptr;
}

std::string Paths::absolute(std::uint32_t file) const {
  const PlannedFile* found = planned(file);
  if (found == nullptr) return {};
  return tree_ ? tree_->pathOf(found->location) : path_ + "/" + found->location;
}

Paths::Base Paths::base(const std::string& location) const {
  if (!tree_) return {};
  if (location.empty()) return {.fd = tree_->fd(), .is_own = false};
  const auto found = bases_.find(location);
  if (found != bases_.end()) return {.fd = found->second, .is_own = false};
  return {.fd = tree_->openFile(location, O_PATH | O_DIRECTORY), .is_own = true};
}

void Names::enterTree() {
  const Paths::Base tree = paths_.base("");
  if (tree.fd < 0 || unshare(CLONE_FS) != 0) return;
  is_in_tree_ = raw::changeDirectory(tree.fd) == 0;
  at_.clear();
}

void Names::changedTo(std::uint32_t file) {
  const PlannedFile* planned = paths_.planned(file);
  if (!is_in_tree_) return;
  if (planned == nullptr) {
    at_ = "/";  // not known: no base has this name, so that the next call goes to its own
    return;
  }
  at_ = planned->location == "." ? std::string() : planned->location;
}

// Goes there unless the thread is there. Not all ways to come to a directory are calls of its own:
// a child begins where its parent was, and threads of a process share one.
bool Names::goTo(std::string_view base) {
  if (at_ == base) return true;
  const Paths::Base directory = paths_.base(std::string(base));
  if (directory.fd < 0) return false;
  const bool is_there = stand(directory.fd, base);
  if (directory.is_own) raw::closeFd(directory.fd);
  return is_there;
}

bool Names::stand(int directory, std::string_view name) {
  if (raw::changeDirectory(directory) != 0) return false;
  at_ = name;
  return true;
}

void Names::setAbsolute(Name& name, std::uint32_t file) {
  name.buffer = paths_.absolute(file);
  name.text = name.buffer.c_str();
}

// With the names of so many directories above the location's own.
void Names::setFromAbove(Name& name, std::uint32_t file, std::size_t levels, bool may_move) {
  setAbsolute(name, file);
  const std::string& tree = paths_.tree();
  if (levels >= paths_.depth()) {
    // More than there are: through the tree again and again.
    const std::string again = tree.substr(tree.rfind('/')) + "/..";
    const std::size_t turns = std::min(levels, kMostAbove) - std::min(paths_.depth(), kMostAbove);
    for (std::size_t i = 0; i < turns; ++i) name.buffer.insert(tree.rfind('/'), again);
    name.text = name.buffer.c_str();
    return;
  }
  std::string up;
  for (std::size_t i = 0; i < levels; ++i) up += "../";
  if (at_ != up && !(may_move && stand(paths_.above(levels), up))) return;
  std::size_t begin = tree.size();
  for (std::size_t i = 0; i < levels; ++i) begin = tree.rfind('/', begin - 1);
  name.text = name.buffer.c_str() + begin + 1;
}

void Names::set(Name& name, std::uint32_t file, std::uint16_t lookups, std::uint32_t directory,
                const Descriptors& descriptors, bool may_move, const Wanted& asked) {
  name.text = "";
  name.directory = AT_FDCWD;
  const PlannedFile* planned = paths_.planned(file);
  if (planned == nullptr) return;
  if (!is_in_tree_) return setAbsolute(name, file);
  const std::string& location = planned->location;
  const std::size_t names = namesIn(location);
  const std::size_t wanted = lookups == model::kAllLookups ? names : lookups;
  // The names above a file of this node are not in the tree.
  if (wanted >= names && paths_.isApart(location)) return setAbsolute(name, file);
  const auto last = [&] {
    if (wanted == 0) return asked.may_be_empty ? "" : ".";
    return wanted == names ? location.c_str() : location.c_str() + beginOfLast(location, wanted);
  };
  if (directory != kNoSlot && wanted <= names) {
    name.directory = descriptors.fd(directory);
    if (name.directory >= 0 && wanted == 0 && asked.may_be_descriptor && !asked.may_be_empty) {
      name.buffer = "/proc/self/fd/" + std::to_string(name.directory);
      name.text = name.buffer.c_str();
      name.directory = AT_FDCWD;
      return;
    }
    if (name.directory >= 0) {
      name.text = last();
      return;
    }
    name.directory = AT_FDCWD;
  }
  if (wanted > names) return setFromAbove(name, file, wanted - names, may_move);
  std::string_view base;
  if (wanted < names) {
    base = std::string_view(location).substr(0, beginOfLast(location, wanted));
    if (base.ends_with('/')) base.remove_suffix(1);
  }
  if (base != at_ && !(may_move && goTo(base))) return setAbsolute(name, file);
  name.text = names == 0 ? location.c_str() : last();
}

void Names::find(const Op& op, Wanted wanted, const Descriptors& descriptors) {
  if (wanted.path) {
    set(first_, op.file, op.lookups, op.directory, descriptors, true, wanted);
  }
  // Both are looked up from one directory, as the application's were.
  if (wanted.new_path) {
    set(second_, op.new_file, op.new_lookups, op.new_directory, descriptors, !wanted.path, {});
  }
}

}  // namespace omnio::replay
