#include "core/base/write_all.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace omnio::base {
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

}  // namespace omnio::base
