#include "core/base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/base/printable.hpp"

namespace omnio::base {

Failure systemFailure(const std::filesystem::path& path, int error, std::string_view what) {
  return {error == ENOENT ? Code::kNotFound : Code::kSystem,
          fmt::format("{}{}{}: {}", what, what.empty() ? "" : " ", printable(path.native()),
                      std::strerror(error))};
}

Failure fileFailure(const std::filesystem::path& path, Code code, std::string_view problem) {
  return {code, fmt::format("{}: {}", printable(path.native()), problem)};
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Result<File> File::open(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return systemFailure(path, errno);
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return fileFailure(path, Code::kNotOurs, "not a regular file");
  }
  return File(std::move(file));
}

File::Identity File::identity() const {
  struct stat status {};
  if (fstat(file_.get(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

std::uint64_t File::size() const {
  struct stat status {};
  return fstat(file_.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::size_t File::readAt(std::uint64_t offset, void* out, std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = pread(file_.get(), static_cast<char*>(out) + done, bytes - done,
                            static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

std::uint64_t File::nextData(std::uint64_t offset) const {
  const off_t data = lseek(file_.get(), static_cast<off_t>(offset), SEEK_DATA);
  if (data >= 0) return static_cast<std::uint64_t>(data);
  // ENXIO: only a hole is left. Anything else: the file system cannot tell, so all is data.
  return errno == ENXIO ? size() : offset;
}

namespace {

// Writing beyond the file-size limit raises a signal that ends the program unless it is ignored.
// A library does not change what signals do: it is kept from this thread, and taken back if it
// came.
class NoSizeLimitSignal {
 public:
  NoSizeLimitSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~NoSizeLimitSignal() {
    constexpr timespec kNow{};
    while (sigtimedwait(&set_, nullptr, &kNow) == SIGXFSZ) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSizeLimitSignal(const NoSizeLimitSignal&) = delete;
  NoSizeLimitSignal& operator=(const NoSizeLimitSignal&) = delete;

 private:
  sigset_t set_{};
  sigset_t before_{};
};

}  // namespace

int writeAll(int fd, const char* data, std::size_t bytes, std::uint64_t offset) {
  const NoSizeLimitSignal guard;
  while (bytes > 0) {
    const ssize_t n = pwrite(fd, data, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return ENOSPC;
    data += n;
    bytes -= static_cast<std::size_t>(n);
    offset += static_cast<std::uint64_t>(n);
  }
  return 0;
}

void raiseOpenFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::uint64_t openFileLimit() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace omnio::base
