#include "cli/trace/part_taker.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/output.hpp"
#include "core/base/printable.hpp"
#include "core/tracefile/log_parts.hpp"
#include "core/tracefile/process.hpp"
#include "core/tracefile/ring_file.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;

std::string userName(uid_t user) {
  const passwd* const entry = getpwuid(user);  // this thread alone asks
  return entry == nullptr ? fmt::format("user {}", user) : fmt::format("user {}", entry->pw_name);
}

std::string programOf(const wire::LogPartHeader& header) {
  if (header.pid_namespace != tracefile::pidNamespaceNumber()) return {};
  std::error_code error;
  const fs::path program = fs::read_symlink(fmt::format("/proc/{}/exe", header.pid), error);
  return error ? std::string() : fmt::format(" ({})", base::printable(program.native()));
}

// Where tracers may leave parts: they use no other file system.
std::vector<fs::path> partDirectories() {
  std::vector<fs::path> directories = tracefile::ringDirectories();
  std::erase_if(directories, [](const fs::path& directory) {
    struct statfs facts {};
    return statfs(directory.c_str(), &facts) != 0 || facts.f_type != TMPFS_MAGIC;
  });
  return directories;
}

// Tells when a part is complete: it gets its name by a rename. An invalid descriptor where not all
// directories can be watched.
base::Descriptor watchDirectories() {
  base::Descriptor watch(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  for (const fs::path& directory : partDirectories()) {
    if (watch && inotify_add_watch(watch.get(), directory.c_str(), IN_MOVED_TO | IN_ONLYDIR) < 0) {
      return base::Descriptor(-1);
    }
  }
  return watch;
}

// Takes the events that are there. Whether one of them may be of a part.
bool hasPartCome(int watch) {
  alignas(inotify_event) char events[16384];
  bool has_come = false;
  for (ssize_t bytes = 0; (bytes = read(watch, events, sizeof events)) > 0;) {
    for (std::size_t at = 0; at < static_cast<std::size_t>(bytes);) {
      const auto* const event = reinterpret_cast<const inotify_event*>(events + at);
      const std::string_view name = event->len > 0 ? event->name : "";
      has_come = has_come || (event->mask & IN_Q_OVERFLOW) != 0 || tracefile::partFileOf(name);
      at += sizeof *event + event->len;
    }
  }
  return has_come;
}

// The parts of one run. Only the thread of a PartTaker uses it.
class Parts {
 public:
  Parts(fs::path directory, const wire::Run& run, bool keeps)
      : keeps_(keeps),
        directory_(std::move(directory)),
        identity_(tracefile::TraceIdentity::of(directory_)),
        parts_(
            directory_,
            [run](const wire::LogPartHeader& part) { return part.supervisor == run.supervisor; },
            [this](const wire::LogPartHeader& part, uid_t user) { sayOnce(part, user); }),
        pid_(run.supervisor.pid) {}

  // Returns whether some are left.
  bool take() {
    const std::vector<tracefile::PartFile> found = files();
    if (!keeps_) {
      std::error_code error;
      for (const tracefile::PartFile& part : found) fs::remove(part.path, error);
      return false;
    }
    const std::size_t taken = parts_.take(found);
    for (const std::string& trouble : parts_.takeTroubles()) printFailure(trouble);
    return taken < found.size();
  }
  // Processes that go on may leave others all the time.
  void takeLast() {
    if (take()) take();
    tracefile::LogParts::removeUnfinished(files());
  }

 private:
  std::vector<tracefile::PartFile> files() const {
    std::vector<tracefile::PartFile> files = tracefile::partFiles(directories_, identity_);
    std::erase_if(files, [this](const auto& file) { return file.supervisor != pid_; });
    return files;
  }

  void sayOnce(const wire::LogPartHeader& part, uid_t owner) {
    if (std::exchange(has_said_, true)) return;
    const std::string user = userName(owner);
    printFailure(fmt::format(
        "{}: process {}{} of {} cannot write its log there: {}; omnio trace writes it, and later "
        "ones, with its own rights as long as it runs; to make this unnecessary, let {} write to "
        "the directory",
        base::printable(directory_.native()), part.pid, programOf(part), user,
        std::strerror(static_cast<int>(part.error)), user));
  }

  const bool keeps_;
  const fs::path directory_;
  const tracefile::TraceIdentity identity_;
  const std::vector<fs::path> directories_ = partDirectories();
  tracefile::LogParts parts_;
  const std::uint64_t pid_;
  bool has_said_ = false;
};

void work(fs::path directory, wire::Run run, bool keeps, int watch, int stop) {
  Parts parts(std::move(directory), run, keeps);
  pollfd wanted[] = {{.fd = stop, .events = POLLIN, .revents = 0},
                     {.fd = watch, .events = POLLIN, .revents = 0}};
  constexpr int kPauseMs = 200;
  bool is_left = false;
  while (wanted[0].revents == 0) {
    const int ready = poll(wanted, 2, watch < 0 || is_left ? kPauseMs : -1);
    if (ready < 0 && errno != EINTR) break;
    if (ready == 0 || (watch >= 0 && hasPartCome(watch))) is_left = parts.take();
  }
  parts.takeLast();
}

}  // namespace

PartTaker::PartTaker(fs::path directory, const wire::Run& run, bool keeps)
    : watch_(watchDirectories()), stop_(eventfd(0, EFD_CLOEXEC)) {
  if (!stop_) return;
  // Signals are for the thread that waits for the command.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread(work, std::move(directory), run, keeps, watch_.get(), stop_.get());
  } catch (const std::system_error&) {
    // No thread: whoever leaves a part waits for some seconds, once.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

PartTaker::~PartTaker() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

}  // namespace omnio::cli
