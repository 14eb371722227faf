#include "replay/target/tree.hpp"

#include <fmt/format.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <sys/prctl.h>

#include <system_error>
#include <utility>
#include <vector>

#include "core/base/printable.hpp"
#include "replay/issue/libc.hpp"
#include "replay/target/adopt.hpp"
#include "replay/target/kept.hpp"

// Rights that came with later versions than the first (Linux 5.13), and that the header of an older
// system does not name: https://docs.kernel.org/userspace-api/landlock.html
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

namespace omnio::replay {
namespace {

namespace fs = std::filesystem;

int openBeneath(int directory, const char* name, int flags, unsigned mode) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(raw::systemCall(SYS_openat2, directory, name, &how, sizeof how));
}

void closeKeepingErrno(int fd) {
  const int error = errno;
  raw::closeFd(fd);
  errno = error;
}

// Component by component, for kernels before 5.6.
int openStepwise(int root, const std::string& location, int flags, unsigned mode) {
  int at = raw::duplicate(root, 3);
  std::size_t begin = 0;
  for (std::size_t end = location.find('/'); at >= 0 && end != std::string::npos;
       begin = end + 1, end = location.find('/', begin)) {
    const std::string part = location.substr(begin, end - begin);
    if (part.empty() || part == ".") continue;
    const int next =
        part == ".." ? (errno = EXDEV, -1)
                     : raw::openAt(at, part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    closeKeepingErrno(at);
    at = next;
  }
  if (at < 0) return -1;
  const std::string last = location.substr(begin);
  const int fd = last == ".." ? (errno = EXDEV, -1)
                              : raw::openAt(at, last.empty() ? "." : last.c_str(),
                                            flags | O_NOFOLLOW | O_CLOEXEC, mode);
  closeKeepingErrno(at);
  return fd;
}

int openBelow(int root, const std::string& location, int flags, unsigned mode) {
  const int fd = openBeneath(root, location.c_str(), flags, mode);
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return fd;
  return openStepwise(root, location, flags, mode);
}

// A directory that is not there, is empty, or is ours.
struct Look {
  bool there = false;
  bool ours = false;
  bool is_adopted = false;
  bool has_tree = false;
};

base::Result<Look> lookAt(const fs::path& target) {
  std::error_code error;
  Look look;
  const fs::file_status status = fs::status(target, error);
  if (status.type() == fs::file_type::not_found) return look;
  if (error) return base::systemFailure(target, error.value());
  if (status.type() != fs::file_type::directory) {
    return base::failure(base::Code::kInvalid, "{}: not a directory",
                         base::printable(target.native()));
  }
  look.there = true;
  look.is_adopted = isAdopted(target);
  look.ours = look.is_adopted || fs::exists(fs::symlink_status(target / kMarkerName, error));
  const fs::file_status tree = fs::symlink_status(target / kTreeName, error);
  look.has_tree = fs::exists(tree);
  if (look.has_tree && tree.type() != fs::file_type::directory) {
    return base::failure(base::Code::kInvalid, "{}: not a directory; name another --target",
                         base::printable((target / kTreeName).native()));
  }
  for (fs::directory_iterator entry(target, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path name = entry->path().filename();
    if (look.ours && (name == kMarkerName || name == kTreeName)) continue;
    if (look.is_adopted && name == kAdoptedMarker) continue;
    if (isOfKeptInputs(*entry)) continue;
    if (name.native().starts_with(kNodeMark)) continue;
    return base::failure(base::Code::kInvalid,
                         "{} holds {}, which no replay made; a target has to be empty",
                         base::printable(target.native()), base::printable(name.native()));
  }
  if (error) return base::systemFailure(target, error.value());
  return look;
}

base::Result<Look> lookAndRefuse(const fs::path& target, bool fresh) {
  base::Result<Look> look = lookAt(target);
  if (!look) return look;
  if (!look->is_adopted && (fresh || !look->has_tree)) {
    if (const auto one = checkOneFileSystem(target); !one) return one.failure();
  }
  if (fresh || !look->has_tree) return look;
  if (look->is_adopted) {
    const base::Result<fs::path> left = leftIn(target);
    if (!left) return left.failure();
    if (left->empty()) return look;
    return base::failure(base::Code::kInvalid,
                         "{} holds {} of an earlier replay; --fresh removes it, and keeps the "
                         "directories that were adopted",
                         base::printable(target.native()),
                         base::printable(left->lexically_relative(target).native()));
  }
  return base::failure(base::Code::kInvalid,
                       "{} holds the tree of an earlier replay; --fresh removes it",
                       base::printable(target.native()));
}

}  // namespace

base::Result<void> checkTarget(const fs::path& target, bool fresh) {
  const base::Result<Look> look = lookAndRefuse(target, fresh);
  if (!look) return look.failure();
  return {};
}

std::string_view remedyFor(int error) {
  switch (error) {
    case EROFS:
    case EACCES:
    case EPERM:
      return "; name a target that can be written";
    case ENOSPC:
    case EDQUOT:
      return "; name a target with more room";
    default:
      return "";
  }
}

base::Result<fs::path> makeTree(const fs::path& target, bool fresh, bool keeps) {
  const auto refused = [](const fs::path& path, int number, std::string_view what = {}) {
    base::Failure failure = base::systemFailure(path, number, what);
    failure.sentence += remedyFor(number);
    return failure;
  };
  const base::Result<Look> look = lookAndRefuse(target, fresh);
  if (!look) return look.failure();
  std::error_code error;
  fs::create_directories(target, error);
  if (error) return refused(target, error.value(), "cannot create");
  const fs::path real = fs::canonical(target, error);
  if (error) return base::systemFailure(target, error.value());
  // The marker comes before the tree: what is half made is known for ours too.
  const int marker = raw::openAt(AT_FDCWD, (real / kMarkerName).c_str(),
                                 O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (marker < 0) return refused(real / kMarkerName, errno);
  raw::closeFd(marker);
  const fs::path tree = real / kTreeName;
  const auto settled = !keeps           ? forgetInputs(real)
                       : look->has_tree ? putInputsAside(real)
                                        : base::Result<void>();
  if (!settled) return settled.failure();
  if (look->is_adopted && look->has_tree) {
    if (!fresh) return tree;
    if (const auto removed = removeLeft(real); !removed) return removed.failure();
    return tree;
  }
  // Not unasked: another replay may have made one meanwhile.
  if (fresh) fs::remove_all(tree, error);  // removes links as such
  if (error) return refused(tree, error.value());
  if (raw::mkdirAt(AT_FDCWD, tree.c_str(), 0755) != 0) return refused(tree, errno);
  return tree;
}

void removeTree(const fs::path& target) {
  std::error_code ignored;
  if (!isAdopted(target)) fs::remove_all(target / kTreeName, ignored);
  fs::remove(target / kMarkerName, ignored);
}

base::Result<Tree> Tree::open(const fs::path& path) {
  const int fd =
      raw::openAt(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return base::systemFailure(path, errno);
  return Tree(path, fd);
}

Tree::Tree(fs::path path, int fd)
    : path_(std::move(path)), fd_(fd), is_adopted_(replay::isAdopted(path_.parent_path())) {}

Tree::Tree(Tree&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      is_adopted_(other.is_adopted_) {}

Tree::~Tree() {
  if (fd_ >= 0) raw::closeFd(fd_);
}

std::string Tree::pathOf(const std::string& location) const {
  return path_.native() + "/" + location;
}

int Tree::openFile(const std::string& location, int flags, unsigned mode) const {
  return openBelow(fd_, location, flags, mode);
}

int Tree::makeDirectories(const std::string& location) const {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = location.find('/', end + 1);
    const std::string upper = location.substr(0, end);
    const std::size_t slash = upper.rfind('/');
    const std::string name = slash == std::string::npos ? upper : upper.substr(slash + 1);
    if (name.empty() || name == ".") continue;
    const std::string parent = slash == std::string::npos ? "." : upper.substr(0, slash);
    const int directory = openBelow(fd_, parent, O_PATH | O_DIRECTORY, 0);
    if (directory < 0) return errno;
    const int made = raw::mkdirAt(directory, name.c_str(), 0755);
    const int error = made == 0 ? 0 : errno;
    raw::closeFd(directory);
    if (error != 0 && error != EEXIST) return error;
  }
  return 0;
}

namespace {

std::uint64_t rightsToChange(int abi) {
  std::uint64_t rights = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                         LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                         LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                         LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                         LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
  // Where it is not named, files can never be moved between directories: not from version 2 on.
  if (abi >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
  return rights;
}

}  // namespace

Fence::Fence(const std::vector<std::filesystem::path>& writable) {
  if (writable.empty()) return;
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  // Version 1 forbids every rename and link between directories, whatever the rules say: then a
  // replay that is right would go wrong.
  if (abi < 2) return;
  abi_ = static_cast<int>(abi);
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = rightsToChange(abi_);
  ruleset_ =
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0U));
  if (ruleset_ < 0) return;
  for (const auto& path : writable) {
    const int fd = raw::openAt(AT_FDCWD, path.c_str(), O_PATH | O_CLOEXEC);
    if (fd < 0) continue;
    landlock_path_beneath_attr rule{};
    rule.allowed_access = attributes.handled_access_fs;
    rule.parent_fd = fd;
    if (syscall(SYS_landlock_add_rule, ruleset_, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U) != 0) {
      // A single file takes none of the rights of directories.
      rule.allowed_access &= LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
      syscall(SYS_landlock_add_rule, ruleset_, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U);
    }
    raw::closeFd(fd);
  }
  // Without it only the administrator may fence himself in. It holds for all threads to come.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    raw::closeFd(ruleset_);
    ruleset_ = -1;
  }
}

Fence::~Fence() {
  if (ruleset_ >= 0) raw::closeFd(ruleset_);
}

bool Fence::enter() const {
  return ruleset_ < 0 || syscall(SYS_landlock_restrict_self, ruleset_, 0U) == 0;
}

std::string Fence::name() const {
  return ruleset_ >= 0 ? fmt::format("landlock ABI {}", abi_) : std::string("paths only");
}

}  // namespace omnio::replay
