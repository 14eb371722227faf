#include "core/tracefile/container_draft.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <system_error>
#include <utility>

#include "core/base/file.hpp"
#include "core/base/printable.hpp"
#include "core/wire/container.hpp"

namespace omnio::tracefile {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = 1 << 20;

void takeOwnerAndMode(int fd, const struct stat& from) {
  // Whoever may not give a file away keeps it; then it gets no bits that are meant for others.
  const bool given = fchown(fd, from.st_uid, from.st_gid) == 0;
  if (fchmod(fd, from.st_mode & (given ? 07777U : 0777U)) != 0) return;
}

}  // namespace

base::Result<ContainerDraft> ContainerDraft::create(const fs::path& target, const fs::path& like) {
  std::random_device random;
  fs::path path = target;
  path += fmt::format(".{:08x}{}", random(), kDraftSuffix);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    return base::Failure{
        base::Code::kSystem,
        fmt::format("cannot write {}: {}", base::printable(path.native()), std::strerror(errno))};
  }
  // Says that it is being written, where the file system knows locks.
  flock(fd, LOCK_EX | LOCK_NB);
  ContainerDraft draft(fd, target, std::move(path));
  draft.like_ = like;
  draft.began_ = stat(like.c_str(), &draft.at_begin_) == 0;
  return draft;
}

ContainerDraft::ContainerDraft(ContainerDraft&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      target_(std::move(other.target_)),
      path_(std::move(other.path_)),
      like_(std::move(other.like_)),
      began_(other.began_),
      at_begin_(other.at_begin_),
      buffer_(std::move(other.buffer_)),
      buffer_at_(other.buffer_at_),
      error_(other.error_) {}

ContainerDraft::~ContainerDraft() {
  if (fd_ < 0) return;
  ::unlink(path_.c_str());
  ::close(fd_);
}

void ContainerDraft::write(std::uint64_t offset, std::string_view bytes) {
  if (offset != buffer_at_ + buffer_.size() || buffer_.size() + bytes.size() > kBufferBytes) {
    flush();
    buffer_at_ = offset;
  }
  buffer_ += bytes;
}

void ContainerDraft::flush() {
  if (error_ == 0) error_ = base::writeAll(fd_, buffer_.data(), buffer_.size(), buffer_at_);
  buffer_.clear();
}

std::optional<base::Failure> ContainerDraft::finish(std::uint64_t bytes) {
  flush();
  if (error_ == 0 && ftruncate(fd_, static_cast<off_t>(bytes)) != 0) error_ = errno;
  if (error_ == 0 && fsync(fd_) != 0) error_ = errno;
  if (error_ != 0) return failed(error_);
  // What is read back to be compared is to come from the device.
  posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  return std::nullopt;
}

std::optional<base::Failure> ContainerDraft::takeName() {
  struct stat from {};
  if (stat(like_.c_str(), &from) == 0) {
    const bool is_same = began_ && from.st_size == at_begin_.st_size &&
                         from.st_mtim.tv_sec == at_begin_.st_mtim.tv_sec &&
                         from.st_mtim.tv_nsec == at_begin_.st_mtim.tv_nsec;
    if (like_ == target_ && !is_same) {
      return base::Failure{base::Code::kInvalid,
                           fmt::format("{}: was written to meanwhile, and stays as it is",
                                       base::printable(target_.native()))};
    }
    takeOwnerAndMode(fd_, from);
    const timespec times[2] = {from.st_atim, from.st_mtim};
    futimens(fd_, times);
  }
  if (::rename(path_.c_str(), target_.c_str()) != 0) return failed(errno);
  const int directory = ::open(target_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    fsync(directory);  // some file systems cannot, and need not
    ::close(directory);
  }
  ::close(std::exchange(fd_, -1));
  return std::nullopt;
}

base::Failure ContainerDraft::failed(int error) const {
  return {base::Code::kSystem, fmt::format("cannot write {}: {}", base::printable(path_.native()),
                                           std::strerror(error))};
}

bool isDraft(const fs::path& name) {
  constexpr std::size_t kRandomDigits = 8;
  const std::string_view text = name.native();
  const std::string container = std::string(wire::kContainerSuffix) + ".";
  const std::size_t tail = kRandomDigits + std::strlen(kDraftSuffix);
  if (!text.ends_with(kDraftSuffix) || text.size() <= tail) return false;
  const std::string_view digits = text.substr(text.size() - tail, kRandomDigits);
  return text.substr(0, text.size() - tail).ends_with(container) &&
         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void removeDeadDrafts(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!isDraft(entry->path().filename())) continue;
    const int fd = ::open(entry->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
    ::close(fd);
  }
}

}  // namespace omnio::tracefile
