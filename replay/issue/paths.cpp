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

// The directories above a tree, the nearest first, up to the root of its file system.
std::vector<int> directoriesAbove(const Tree& tree) {
  std::vector<int> above;
  // In a chroot the root is its own parent, and need not be a mount point.
  const std::string& path = tree.path().native();
  const auto parents = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
  const std::size_t most = std::min(parents, kMostAbove);
  for (int at = tree.fd(); !isMountPoint(at) && above.size() < most; at = above.back()) {
    const int fd = raw::openAt(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) break;
    above.push_back(fd);
  }
  return above;
}

}  // namespace

Paths::Paths(const Plan& plan, const Trees& trees, const std::vector<std::uint32_t>& ranks)
    : plan_(plan), trees_(trees) {
  for (const std::uint32_t rank : ranks) {
    for (const PlannedBase& base : plan.ranks[rank].bases) {
      const std::pair key(base.tree, base.location);
      if (bases_.size() >= kMostBases || bases_.contains(key)) continue;
      const int fd = trees_[base.tree].openFile(base.location, O_PATH | O_DIRECTORY);
      if (fd >= 0) bases_.emplace(key, fd);
    }
  }
  for (const Tree& tree : trees_.targets()) above_.push_back(directoriesAbove(tree));
  if (trees_.onNode()) above_node_tree_ = directoriesAbove(*trees_.onNode());
  if (trees_.inMemory()) above_memory_tree_ = directoriesAbove(*trees_.inMemory());
}

Paths::~Paths() {
  for (const auto& [base, fd] : bases_) raw::closeFd(fd);
  for (const std::vector<int>& above : above_) std::ranges::for_each(above, raw::closeFd);
  std::ranges::for_each(above_node_tree_, raw::closeFd);
  std::ranges::for_each(above_memory_tree_, raw::closeFd);
}

const std::vector<int>& Paths::above(std::uint32_t tree) const {
  if (tree == kNodeTree && trees_.onNode()) return above_node_tree_;
  if (tree == kMemoryTree && trees_.inMemory()) return above_memory_tree_;
  return above_[tree < above_.size() ? tree : 0];
}

const PlannedFile* Paths::planned(std::uint32_t file) const {
  return file < plan_.files.size() ? &plan_.files[file] : nullptr;
}

std::string Paths::absolute(std::uint32_t file) const {
  const PlannedFile* found = planned(file);
  if (found == nullptr) return {};
  if (found->origin == Origin::kInPlace) return found->source;
  return trees_.of(*found).pathOf(found->location);
}

Paths::Base Paths::base(std::uint32_t tree, const std::string& location) const {
  if (location.empty()) return {.fd = trees_[tree].fd(), .is_own = false};
  const auto found = bases_.find({tree, location});
  if (found != bases_.end()) return {.fd = found->second, .is_own = false};
  return {.fd = trees_[tree].openFile(location, O_PATH | O_DIRECTORY), .is_own = true};
}

void Names::enterTree() {
  if (unshare(CLONE_FS) != 0) return;
  is_in_tree_ = stand(paths_.trees().first().fd(), 0, "");
}

void Names::changedTo(std::uint32_t file) {
  const PlannedFile* planned = paths_.planned(file);
  if (!is_in_tree_) return;
  if (planned == nullptr) {
    at_ = "/";  // not known: no base has this name, so that the next call goes to its own
    return;
  }
  tree_ = planned->tree;
  at_ = planned->location == "." ? std::string() : planned->location;
}

bool Names::isAt(std::uint32_t tree, std::string_view base) const {
  return tree_ == tree && at_ == base;
}

// Goes there unless the thread is there. Not all ways to come to a directory are calls of its own:
// a child begins where its parent was, and threads of a process share one.
bool Names::goTo(std::uint32_t tree, std::string_view base) {
  if (isAt(tree, base)) return true;
  const Paths::Base directory = paths_.base(tree, std::string(base));
  if (directory.fd < 0) return false;
  const bool is_there = stand(directory.fd, tree, base);
  if (directory.is_own) raw::closeFd(directory.fd);
  return is_there;
}

bool Names::stand(int directory, std::uint32_t tree, std::string_view name) {
  if (raw::changeDirectory(directory) != 0) return false;
  tree_ = tree;
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
  const std::uint32_t number = paths_.planned(file)->tree;
  const std::string& tree = paths_.trees()[number].path().native();
  const std::size_t depth = paths_.depth(number);
  if (levels >= depth) {
    // More than there are: through the tree again and again.
    const std::string again = tree.substr(tree.rfind('/')) + "/..";
    const std::size_t turns = std::min(levels, kMostAbove) - std::min(depth, kMostAbove);
    for (std::size_t i = 0; i < turns; ++i) name.buffer.insert(tree.rfind('/'), again);
    name.text = name.buffer.c_str();
    return;
  }
  std::string up;
  for (std::size_t i = 0; i < levels; ++i) up += "../";
  const bool is_there =
      isAt(number, up) || (may_move && stand(paths_.above(number, levels), number, up));
  if (!is_there) return;
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
  if (!is_in_tree_ || planned->origin == Origin::kInPlace) return setAbsolute(name, file);
  const std::string& location = planned->location;
  const std::size_t names = namesIn(location);
  const std::size_t wanted = lookups == model::kAllLookups ? names : lookups;
  if (asked.from_first_tree && planned->tree != 0) return setAbsolute(name, file);
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
  const bool is_there = isAt(planned->tree, base) || (may_move && goTo(planned->tree, base));
  if (!is_there) return setAbsolute(name, file);
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
