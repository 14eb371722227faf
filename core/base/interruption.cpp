#include "core/base/interruption.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <system_error>

#include "core/base/printable.hpp"

namespace omnio::base {
namespace {

constexpr std::array kStopping = {SIGINT, SIGTERM, SIGHUP};
constexpr std::size_t kMostPaths = 64;

// Read by the handler, which may interrupt anything: no locks, no allocation.
std::array<std::atomic<const RemovedIfInterrupted*>, kMostPaths> paths;
struct Sentences {
  std::array<std::string, kStopping.size()> by_signal;
  std::array<std::string, kStopping.size()> when_written;
};
std::atomic<const Sentences*> sentences = nullptr;
std::atomic<bool> are_held = false;
std::atomic<bool> is_written = false;
std::array<struct sigaction, kStopping.size()> before;

// An entry as getdents64(2) fills it in; readdir allocates.
struct Entry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t bytes;
  unsigned char type;
  char name[];
};

void removeFilesIn(const char* path) {
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  alignas(Entry) char part[4096];
  // Once more from the beginning until there is nothing to remove: names may be passed over while
  // others are removed.
  for (bool has_removed = true; has_removed;) {
    has_removed = false;
    lseek(fd, 0, SEEK_SET);
    for (long bytes = 0; (bytes = syscall(SYS_getdents64, fd, part, sizeof part)) > 0;) {
      for (long at = 0; at < bytes;) {
        const auto* entry = reinterpret_cast<const Entry*>(part + at);
        if (unlinkat(fd, entry->name, 0) == 0) has_removed = true;
        at += entry->bytes;
      }
    }
  }
  close(fd);
}

void say(const std::string& sentence) {
  // A line of progress may be there.
  constexpr std::string_view kClear = "\r\x1b[K";
  if (isatty(STDERR_FILENO) != 0) {
    [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, kClear.data(), kClear.size());
  }
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, sentence.data(), sentence.size());
}

void stop(int signal) {
  // Another thread than the one that holds signals may get one.
  while (are_held) {
    const timespec pause{.tv_sec = 0, .tv_nsec = 1000000};
    nanosleep(&pause, nullptr);
  }
  for (const auto& path : paths) {
    if (const RemovedIfInterrupted* const one = path.load()) one->remove();
  }
  const Sentences* const all = sentences.load();
  for (std::size_t i = 0; i < kStopping.size(); ++i) {
    if (all == nullptr || kStopping[i] != signal) continue;
    say(is_written ? all->when_written[i] : all->by_signal[i]);
  }
  endBySignal(signal);
}

}  // namespace

RemovedIfInterrupted::RemovedIfInterrupted(const std::filesystem::path& path, Removal removal)
    : path_(path.native()), removal_(removal) {
  for (; place_ < kMostPaths; ++place_) {
    const RemovedIfInterrupted* none = nullptr;
    if (paths[place_].compare_exchange_strong(none, this)) return;
  }
}

void RemovedIfInterrupted::remove() const {
  if (removal_ == Removal::kWithFiles) removeFilesIn(path_.c_str());
  if (unlink(path_.c_str()) != 0) rmdir(path_.c_str());
}

RemovedIfInterrupted::~RemovedIfInterrupted() {
  if (place_ < kMostPaths) paths[place_].store(nullptr);
}

Interruption::Interruption(std::string_view program, std::string_view rest) {
  auto* const all = new Sentences;
  struct sigaction action {};
  action.sa_handler = stop;
  sigfillset(&action.sa_mask);
  for (std::size_t i = 0; i < kStopping.size(); ++i) {
    const auto sentence = [&](std::string_view what) {
      return safeText(
          fmt::format("{}: interrupted by {}{}\n", program, signalName(kStopping[i]), what), "\n");
    };
    all->by_signal[i] = sentence(rest);
    all->when_written[i] = sentence(" when all was written");
  }
  is_written = false;
  sentences.store(all);
  for (std::size_t i = 0; i < kStopping.size(); ++i) {
    sigaction(kStopping[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) sigaction(kStopping[i], &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (std::size_t i = 0; i < kStopping.size(); ++i) sigaction(kStopping[i], &before[i], nullptr);
  delete sentences.exchange(nullptr);
}

StopsHeld::StopsHeld() {
  sigset_t stopping;
  sigemptyset(&stopping);
  for (const int signal : kStopping) sigaddset(&stopping, signal);
  pthread_sigmask(SIG_BLOCK, &stopping, &before_);
  are_held = true;
}

StopsHeld::~StopsHeld() {
  are_held = false;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void StopsHeld::allIsWritten() { is_written = true; }

std::string leftOf(const std::filesystem::path& document) {
  std::error_code error;
  const std::string path = printable(document.native());
  return std::filesystem::exists(document, error) ? fmt::format("; {} is as it was before", path)
                                                  : fmt::format("; nothing of {} is left", path);
}

std::string signalName(int signal) {
  switch (signal) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
    case SIGQUIT:
      return "SIGQUIT";
    default:
      return fmt::format("signal {}", signal);
  }
}

void endBySignal(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  constexpr int kSignal = 128;  // as a shell has it
  _exit(kSignal + signal);
}

}  // namespace omnio::base
