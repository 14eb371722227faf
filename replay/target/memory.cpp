#include "replay/target/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "core/event/memory_files.hpp"
#include "replay/issue/libc.hpp"
#include "replay/target/tree.hpp"

namespace omnio::replay {
namespace {

namespace fs = std::filesystem;

// Whoever has made the directory holds a lock on this file in it, which ends with the process.
constexpr const char* kOwnerName = ".owner";

int owner_lock = -1;

int lockOwner(const fs::path& directory, int flags) {
  const int fd = raw::openAt(AT_FDCWD, (directory / kOwnerName).c_str(),
                             flags | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0 && raw::systemCall(SYS_flock, fd, LOCK_EX | LOCK_NB) != 0) {
    raw::closeFd(fd);
    errno = EWOULDBLOCK;
    return -1;
  }
  return fd;
}

}  // namespace

void removeLeftInMemory() {
  std::error_code error;
  for (fs::directory_iterator entry(kMemoryDirectory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->path().native().starts_with(event::kReplayMemoryPrefix)) continue;
    struct stat facts {};
    const bool is_ours = raw::systemCall(SYS_newfstatat, AT_FDCWD, entry->path().c_str(), &facts,
                                         AT_SYMLINK_NOFOLLOW) == 0 &&
                         S_ISDIR(facts.st_mode) && facts.st_uid == geteuid();
    if (!is_ours) continue;
    const int fd = lockOwner(entry->path(), 0);
    if (fd < 0) continue;  // it is at work, or begins
    fs::remove_all(entry->path(), error);
    error.clear();
    raw::closeFd(fd);
  }
}

fs::path memoryDirectoryOf(std::int64_t replay) {
  return fs::path(fmt::format("{}{}", event::kReplayMemoryPrefix, replay));
}

fs::path memoryTreeOf(std::int64_t replay) { return memoryDirectoryOf(replay) / kTreeName; }

base::Result<void> makeMemoryTree(std::int64_t replay) {
  removeLeftInMemory();
  const fs::path directory = memoryDirectoryOf(replay);
  if (raw::mkdirAt(AT_FDCWD, directory.c_str(), 0700) != 0) {
    return base::systemFailure(directory, errno, "cannot create");
  }
  owner_lock = lockOwner(directory, O_CREAT);
  if (owner_lock < 0) return base::systemFailure(directory, errno, "cannot lock");
  const fs::path tree = directory / kTreeName;
  if (raw::mkdirAt(AT_FDCWD, tree.c_str(), 0755) != 0) return base::systemFailure(tree, errno);
  return {};
}

void removeMemoryTree(std::int64_t replay) {
  std::error_code ignored;
  fs::remove_all(memoryDirectoryOf(replay), ignored);
  if (owner_lock >= 0) raw::closeFd(owner_lock);
  owner_lock = -1;
}

}  // namespace omnio::replay
