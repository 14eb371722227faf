#include "replay/target/adopt.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <system_error>
#include <vector>

#include "core/base/printable.hpp"
#include "replay/issue/libc.hpp"
#include "replay/target/kept.hpp"

namespace omnio::replay {
namespace {

namespace fs = std::filesystem;

// The file system of a path, which is not followed; 0 where it cannot be told.
dev_t fileSystemOf(const fs::path& path) {
  struct stat facts {};
  const long status =
      raw::systemCall(SYS_newfstatat, AT_FDCWD, path.c_str(), &facts, AT_SYMLINK_NOFOLLOW);
  return status == 0 ? facts.st_dev : 0;
}

// The mount that a path, which is not followed, is reached by: the same file system may be mounted
// in two places. 0 where the kernel does not tell it (before Linux 5.8).
std::uint64_t mountOf(const fs::path& path) {
  struct statx facts {};
  const long status =
      raw::systemCall(SYS_statx, AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &facts);
  return status == 0 && (facts.stx_mask & STATX_MNT_ID) != 0 ? facts.stx_mnt_id : 0;
}

base::Failure onOtherFileSystem(const fs::path& directory) {
  return base::failure(base::Code::kInvalid,
                       "{} is on another file system than the target around it, or mounted there; "
                       "unmount it first",
                       base::printable(directory.native()));
}

// Everything below a directory, without following links: use(path, is_directory), until it returns
// false. Refuses other file systems in it, whose files no replay has made.
base::Result<void> eachBelow(const fs::path& directory,
                             const std::function<bool(const fs::path&, bool)>& use) {
  std::error_code error;
  const dev_t device = fileSystemOf(directory);
  for (fs::recursive_directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const bool is_directory = entry->symlink_status(error).type() == fs::file_type::directory;
    if (is_directory && fileSystemOf(entry->path()) != device) {
      return onOtherFileSystem(entry->path());
    }
    if (error || !use(entry->path(), is_directory)) break;
  }
  if (error) return base::systemFailure(directory, error.value());
  return {};
}

// The locations that noteNewDirectories() has written.
std::vector<std::string> madeByReplay(const fs::path& target) {
  std::ifstream in(target / kMarkerName, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::string> locations;
  for (std::size_t begin = 0, end = 0; (end = text.find('\0', begin)) != std::string::npos;
       begin = end + 1) {
    locations.push_back(text.substr(begin, end - begin));
  }
  return locations;
}

// By a directory that is opened below the tree without following links. 0 or errno.
int removeBelow(const Tree& tree, const std::string& location, int flags) {
  const std::size_t slash = location.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : location.substr(0, slash);
  const std::string name = slash == std::string::npos ? location : location.substr(slash + 1);
  const int directory = tree.openFile(parent, O_PATH | O_DIRECTORY);
  if (directory < 0) return errno;
  const long removed = raw::systemCall(SYS_unlinkat, directory, name.c_str(), flags);
  const int error = removed == 0 ? 0 : errno;
  raw::closeFd(directory);
  return error;
}

bool isDirectoryIn(const Tree& tree, const std::string& location) {
  const int fd = tree.openFile(location, O_PATH | O_DIRECTORY);
  if (fd >= 0) raw::closeFd(fd);
  return fd >= 0;
}

}  // namespace

bool isAdopted(const fs::path& target) {
  std::error_code ignored;
  return fs::symlink_status(target / kAdoptedMarker, ignored).type() == fs::file_type::regular;
}

base::Result<Adoption> adoptTarget(const fs::path& target) {
  const std::string name = base::printable(target.native());
  std::error_code error;
  if (fs::status(target, error).type() != fs::file_type::directory) {
    return base::failure(base::Code::kInvalid,
                         "{}: not a directory; make it first, and the directories of its {}", name,
                         kTreeName);
  }
  Adoption adoption{.was_adopted = isAdopted(target)};
  bool is_of_replay = false;
  for (fs::directory_iterator entry(target, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path inside = entry->path().filename();
    const fs::file_type type = entry->symlink_status(error).type();
    const bool is_tree = inside == kTreeName && type == fs::file_type::directory;
    const bool is_marker =
        (inside == kMarkerName || inside == kAdoptedMarker) && type == fs::file_type::regular;
    adoption.has_tree |= is_tree;
    is_of_replay |= inside == kMarkerName;
    if (is_tree || is_marker || isOfKeptInputs(*entry)) continue;
    return base::failure(base::Code::kInvalid,
                         "{} holds {}; a target that is adopted may hold a directory {} and "
                         "nothing else",
                         name, base::printable(inside.native()), kTreeName);
  }
  if (error) return base::systemFailure(target, error.value());
  if (adoption.has_tree) {
    fs::path file;
    const auto read = eachBelow(target / kTreeName, [&](const fs::path& path, bool is_directory) {
      adoption.directories += is_directory ? 1 : 0;
      if (!is_directory && file.empty()) file = path;
      return true;
    });
    if (!read) return read.failure();
    if (!file.empty() && !is_of_replay && !adoption.was_adopted) {
      return base::failure(base::Code::kInvalid,
                           "{} is not a directory, and no replay made it; only directories can be "
                           "adopted",
                           base::printable(file.native()));
    }
  }
  const fs::path marker = target / kAdoptedMarker;
  const int fd =
      raw::openAt(AT_FDCWD, marker.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return base::systemFailure(marker, errno);
  raw::closeFd(fd);
  // What earlier replays have made is the user's from now on.
  std::error_code ignored;
  if (is_of_replay) fs::resize_file(target / kMarkerName, 0, ignored);
  return adoption;
}

base::Result<void> checkOneFileSystem(const fs::path& target) {
  const fs::path around = target / "";  // a link to the target is followed
  for (const char* const name : {kTreeName, kKeptName}) {
    const fs::path tree = target / name;
    std::error_code ignored;
    if (!fs::is_directory(fs::symlink_status(tree, ignored))) continue;
    const std::uint64_t mount = mountOf(around);
    if (fileSystemOf(tree) != fileSystemOf(around) || mountOf(tree) != mount) {
      return onOtherFileSystem(tree);
    }
    fs::path mounted;
    const auto read = eachBelow(tree, [&](const fs::path& path, bool is_directory) {
      if (is_directory && mountOf(path) != mount) mounted = path;
      return mounted.empty();
    });
    if (!read) return read.failure();
    if (!mounted.empty()) return onOtherFileSystem(mounted);
  }
  return {};
}

base::Result<fs::path> leftIn(const fs::path& target) {
  fs::path found;
  const auto read =
      eachBelow(target / kTreeName, [&found](const fs::path& path, bool is_directory) {
        if (!is_directory) found = path;
        return is_directory;
      });
  if (!read) return read.failure();
  if (!found.empty()) return found;
  const base::Result<Tree> tree = Tree::open(target / kTreeName);
  if (!tree) return tree.failure();
  for (const std::string& location : madeByReplay(target)) {
    if (isDirectoryIn(*tree, location)) return fs::path(tree->pathOf(location));
  }
  return found;
}

base::Result<void> removeLeft(const fs::path& target) {
  const base::Result<Tree> tree = Tree::open(target / kTreeName);
  if (!tree) return tree.failure();
  std::vector<std::string> files;
  const auto read = eachBelow(tree->path(), [&](const fs::path& path, bool is_directory) {
    if (!is_directory) files.push_back(path.native().substr(tree->path().native().size() + 1));
    return true;
  });
  if (!read) return read.failure();
  for (const std::string& file : files) {
    if (const int error = removeBelow(*tree, file, 0)) {
      return base::systemFailure(tree->pathOf(file), error, "cannot remove");
    }
  }
  std::vector<std::string> made = madeByReplay(target);
  std::ranges::sort(made, std::ranges::greater());  // what lies in a directory comes before it
  for (const std::string& location : made) removeBelow(*tree, location, AT_REMOVEDIR);
  return {};
}

base::Result<void> noteNewDirectories(const fs::path& target, const Tree& tree,
                                      const std::set<std::string, std::less<>>& locations) {
  std::string text;
  for (const std::string& location : locations) {
    if (!isDirectoryIn(tree, location)) text += location + '\0';
  }
  const fs::path marker = target / kMarkerName;
  const int fd = raw::openAt(AT_FDCWD, marker.c_str(),
                             O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return base::systemFailure(marker, errno);
  const bool is_written = raw::writeWholeAt(fd, text.data(), text.size(), 0);
  const int error = errno;
  raw::closeFd(fd);
  if (!is_written) return base::systemFailure(marker, error);
  return {};
}

}  // namespace omnio::replay
