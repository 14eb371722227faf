#include "core/container_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace omnio {
namespace {

constexpr int kNone = -1;

int openForLock(const std::filesystem::path& path) {
  // NFS makes an exclusive lock only for who may write.
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  return fd >= 0 ? fd : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

bool hasName(int fd, const std::filesystem::path& path) {
  struct stat open {};
  struct stat named {};
  return fstat(fd, &open) == 0 && stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

}  // namespace

ContainerLock ContainerLock::take(const std::filesystem::path& path) {
  while (true) {
    const int fd = openForLock(path);
    if (fd < 0) return ContainerLock(kNone);
    int locked = flock(fd, LOCK_EX);
    while (locked != 0 && errno == EINTR) locked = flock(fd, LOCK_EX);
    if (locked == 0 && hasName(fd, path)) return ContainerLock(fd);
    ::close(fd);
    if (locked != 0) return ContainerLock(kNone);
    // Packed while we waited: it is another file now.
  }
}

ContainerLock::ContainerLock(ContainerLock&& other) noexcept
    : fd_(std::exchange(other.fd_, kNone)) {}

ContainerLock::~ContainerLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace omnio
