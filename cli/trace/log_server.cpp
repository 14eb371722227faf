#include "cli/trace/log_server.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/output.hpp"
#include "core/base/printable.hpp"
#include "core/tracefile/container_file.hpp"
#include "core/tracefile/process.hpp"
#include "core/tracefile/trace.hpp"
#include "core/tracefile/trace_identity.hpp"
#include "core/wire/log_request.hpp"
#include "core/wire/notes.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;

std::string userName(uid_t user) {
  const passwd* const entry = getpwuid(user);  // this thread alone asks
  return entry == nullptr ? fmt::format("user {}", user) : fmt::format("user {}", entry->pw_name);
}

std::string programOf(pid_t pid) {
  std::error_code error;
  const fs::path program = fs::read_symlink(fmt::format("/proc/{}/exe", pid), error);
  return error ? std::string() : fmt::format(" ({})", base::printable(program.native()));
}

// The file that the thread works on.
class Openings {
 public:
  Openings(fs::path directory, const wire::RunId& run)
      : directory_(std::move(directory)), run_(run) {}

  void serve(int listener) {
    const base::Descriptor peer(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer) return;
    // A peer that connects and sends nothing delays the others for no longer.
    const timeval patience{.tv_sec = 0, .tv_usec = 200000};
    setsockopt(peer.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(peer.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    ucred who{};
    socklen_t bytes = sizeof who;
    wire::LogRequest request;
    if (getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0 ||
        recv(peer.get(), &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request) ||
        request.magic != wire::kLogRequestMagic || request.run != run_) {
      return;
    }
    request.name[sizeof request.name - 1] = '\0';
    const base::Descriptor file = open(request, who);
    if (file) sayOnce(request, who);
    answer(peer.get(), file.get(), file ? 0 : errno);
  }

 private:
  static bool isPlain(std::string_view name) {
    return !name.empty() && name.front() != '.' && name.find('/') == name.npos;
  }

  // Those who may write the directory, and users that a process of the trace said it became.
  bool isAllowed(uid_t user) {
    if (user == geteuid() || allowed_.contains(user)) return true;
    tracefile::TraceIdentity identity = tracefile::TraceIdentity::of(directory_);
    const auto containers = tracefile::containersIn(directory_);
    if (!containers) return false;
    for (const fs::path& path : *containers) {
      if (const auto process = tracefile::openContainer(path)) admitOwners(identity, *process);
    }
    if (!identity.isOwner(user)) return false;
    allowed_.insert(user);
    return true;
  }

  // A descriptor, or none and errno.
  base::Descriptor open(const wire::LogRequest& request, const ucred& who) {
    const std::string_view name = request.name;
    const bool is_log = request.kind != wire::LogRequestKind::kNotes;
    const bool is_ours =
        is_log ? name.ends_with(wire::kContainerSuffix)
               : name.ends_with(wire::kProcessesSuffix) || name.ends_with(wire::kUntracedSuffix);
    const bool is_known = request.kind == wire::LogRequestKind::kKnownLog;
    const auto maker = makers_.find(std::string(name));
    if (!isPlain(name) || !is_ours || !isAllowed(who.uid) ||
        (is_known && (maker == makers_.end() || maker->second != who.uid))) {
      errno = EACCES;
      return base::Descriptor(-1);
    }
    const int flags = !is_log    ? O_WRONLY | O_CREAT | O_APPEND
                      : is_known ? O_RDWR
                                 : O_RDWR | O_CREAT | O_EXCL;
    base::Descriptor file(
        ::open((directory_ / name).c_str(), flags | O_CLOEXEC | O_NOFOLLOW, is_log ? 0644 : 0666));
    if (file && is_log) makers_[std::string(name)] = who.uid;
    return file;
  }

  void sayOnce(const wire::LogRequest& request, const ucred& who) {
    if (std::exchange(has_said_, true)) return;
    printFailure(fmt::format(
        "{}: process {}{} of {} cannot write its log there: {}; omnio trace opens it, and later "
        "ones, "
        "with its own rights as long as it runs; to make this unnecessary, let {} write to the "
        "directory",
        base::printable(directory_.native()), request.pid, programOf(who.pid), userName(who.uid),
        std::strerror(static_cast<int>(request.error)), userName(who.uid)));
  }

  static void answer(int peer, int file, int error) {
    wire::LogAnswer words;
    words.error = static_cast<std::uint32_t>(error);
    iovec piece = {&words, sizeof words};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (file >= 0) {
      message.msg_control = room;
      message.msg_controllen = sizeof room;
      cmsghdr* const with = CMSG_FIRSTHDR(&message);
      with->cmsg_level = SOL_SOCKET;
      with->cmsg_type = SCM_RIGHTS;
      with->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(with), &file, sizeof file);
    }
    (void)sendmsg(peer, &message, MSG_NOSIGNAL);
  }

  const fs::path directory_;
  const wire::RunId run_;
  std::set<uid_t> allowed_;
  std::map<std::string, uid_t> makers_;  // of logs, by name
  bool has_said_ = false;
};

base::Descriptor listenFor(const wire::Run& run) {
  base::Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return listener;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string text = fmt::format("{}{}-{}", wire::kLogSocketPrefix,
                                       tracefile::runIdText(run.id), run.supervisor.pid);
  std::memcpy(name.sun_path + 1, text.data(), text.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  constexpr int kWaiting = 4096;
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&name), bytes) != 0 ||
      listen(listener.get(), kWaiting) != 0) {
    return base::Descriptor(-1);
  }
  return listener;
}

void work(fs::path directory, wire::RunId run, int listener, int stop) {
  Openings openings(std::move(directory), run);
  pollfd wanted[] = {{.fd = listener, .events = POLLIN, .revents = 0},
                     {.fd = stop, .events = POLLIN, .revents = 0}};
  while (poll(wanted, 2, -1) >= 0 || errno == EINTR) {
    if ((wanted[0].revents & POLLIN) != 0) {
      openings.serve(listener);
    } else if (wanted[1].revents != 0) {
      return;
    }
  }
}

}  // namespace

LogServer::LogServer(fs::path directory, const wire::Run& run)
    : socket_(listenFor(run)), stop_(eventfd(0, EFD_CLOEXEC)) {
  if (!socket_ || !stop_) return;
  // Signals are for the thread that waits for the command.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread(work, std::move(directory), run.id, socket_.get(), stop_.get());
  } catch (const std::system_error&) {
    socket_ = base::Descriptor(-1);  // no thread: who asks is refused at once
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LogServer::~LogServer() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

}  // namespace omnio::cli
