#include "core/tracefile/container_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "core/base/printable.hpp"

namespace omnio::tracefile {
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

Locked lockWithin(int fd, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause{5};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return Locked::kNotKnown;
    if (std::chrono::steady_clock::now() >= deadline) return Locked::kBusy;
    std::this_thread::sleep_for(kPause);
  }
  return Locked::kYes;
}

base::Failure busyFailure(const std::filesystem::path& path) {
  return {base::Code::kSystem,
          fmt::format("{}: another `omnio collect` or `omnio pack` has been at work on it for {} "
                      "s; end it, or wait",
                      base::printable(path.native()),
                      std::chrono::duration_cast<std::chrono::seconds>(kLockPatience).count())};
}

std::optional<ContainerLock> ContainerLock::take(const std::filesystem::path& path,
                                                 std::chrono::milliseconds patience) {
  // Some network file systems number a file anew each time that they are asked: no name is ever
  // that of the open file there.
  constexpr int kMostRenames = 100;
  for (int i = 0; i < kMostRenames; ++i) {
    const int fd = openForLock(path);
    if (fd < 0) return ContainerLock(kNone);
    const Locked locked = lockWithin(fd, patience);
    if (locked == Locked::kYes && hasName(fd, path)) return ContainerLock(fd);
    ::close(fd);
    if (locked == Locked::kNotKnown) return ContainerLock(kNone);
    if (locked == Locked::kBusy) return std::nullopt;
    // Packed while we waited: it is another file now.
  }
  return ContainerLock(kNone);
}

ContainerLock::ContainerLock(ContainerLock&& other) noexcept
    : fd_(std::exchange(other.fd_, kNone)) {}

ContainerLock::~ContainerLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace omnio::tracefile
