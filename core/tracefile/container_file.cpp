#include "core/tracefile/container_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/base/file.hpp"
#include "core/base/printable.hpp"
#include "core/tracefile/process.hpp"

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

namespace {

base::Failure failed(const std::filesystem::path& path, int error) {
  return {base::Code::kSystem,
          fmt::format("{}: {}", base::printable(path.native()), std::strerror(error))};
}

}  // namespace

base::Result<ContainerAppender> ContainerAppender::open(const std::filesystem::path& path) {
  std::optional<ContainerLock> lock = ContainerLock::take(path);
  if (!lock) return busyFailure(path);
  const base::Result<base::File> file = base::File::open(path);
  if (!file) return file.failure();
  const base::Result<ContainerStart> start = readContainerStart(path, *file);
  if (!start) return start.failure();
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return failed(path, errno);
  struct stat status {};
  if (fstat(fd, &status) != 0) {
    const int error = errno;
    ::close(fd);
    return failed(path, error);
  }
  // A full device may have cut the header block; readers look for chunks behind it.
  const auto end = std::max<std::uint64_t>(static_cast<std::uint64_t>(status.st_size),
                                           start->header.header_bytes);
  return ContainerAppender(fd, end, std::move(*lock));
}

base::Result<ContainerAppender> ContainerAppender::create(const std::filesystem::path& path,
                                                          const wire::ContainerHeader& header) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return failed(path, errno);
  std::optional<ContainerLock> lock = ContainerLock::take(path);
  if (!lock) {  // another made it its own at once
    ::close(fd);
    return busyFailure(path);
  }
  std::string block(wire::kContainerHeaderBytes, '\0');
  std::memcpy(block.data(), &header, sizeof header);
  if (const int error = base::writeAll(fd, block.data(), block.size(), 0); error != 0) {
    ::close(fd);
    ::unlink(path.c_str());
    return failed(path, error);
  }
  return ContainerAppender(fd, block.size(), std::move(*lock));
}

ContainerAppender::ContainerAppender(ContainerAppender&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), end_(other.end_), lock_(std::move(other.lock_)) {}

ContainerAppender::~ContainerAppender() {
  if (fd_ >= 0) ::close(fd_);
}

int ContainerAppender::append(wire::ChunkHeader header, std::string_view payload) {
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_check = wire::checksum(payload.data(), payload.size());
  wire::stamp(header);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += payload;
  const std::uint64_t at = wire::aligned(end_);
  const int error = base::writeAll(fd_, bytes.data(), bytes.size(), at);
  if (error != 0) {
    if (ftruncate(fd_, static_cast<off_t>(end_)) != 0) return errno;
    return error;
  }
  end_ = at + bytes.size();
  return 0;
}

int ContainerAppender::writeAccount(wire::Account account) {
  wire::stamp(account);
  return base::writeAll(fd_, reinterpret_cast<const char*>(&account), sizeof account,
                        wire::kAccountOffset);
}

}  // namespace omnio::tracefile
