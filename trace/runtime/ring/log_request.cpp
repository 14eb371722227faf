#include "trace/runtime/ring/log_request.hpp"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstring>

#include "core/wire/clock.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/sys/forbidden_calls.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {
namespace {

// While `omnio trace` is stopped, each try would wait for it.
std::atomic<std::uint64_t> vain_until_ns{0};
constexpr std::uint64_t kSecondNs = 1'000'000'000;

// Whether another user, or one with another root directory, could open it.
bool isRefusal(long error) {
  return error == -EACCES || error == -EPERM || error == -EROFS || error == -ENOENT ||
         error == -ENOTDIR || error == -ELOOP;
}

bool mayAsk() {
  for (const long call : {SYS_socket, SYS_connect, SYS_sendto, SYS_recvmsg, SYS_setsockopt}) {
    if (isForbidden(call)) return false;
  }
  return true;
}

// The descriptor that came with the answer; -errno where none came.
long receive(long socket) {
  wire::LogAnswer answer;
  iovec piece = {&answer, sizeof answer};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  long got = 0;
  do {
    got = rawSyscall(SYS_recvmsg, socket, address(&message), MSG_CMSG_CLOEXEC);
  } while (got == -EINTR);
  if (got < 0) return got;
  const cmsghdr* const with = CMSG_FIRSTHDR(&message);
  const bool has_one = with != nullptr && with->cmsg_level == SOL_SOCKET &&
                       with->cmsg_type == SCM_RIGHTS && with->cmsg_len == CMSG_LEN(sizeof(int));
  int fd = -1;
  if (has_one) std::memcpy(&fd, CMSG_DATA(with), sizeof fd);
  const bool is_whole = got == static_cast<long>(sizeof answer) &&
                        answer.magic == wire::kLogRequestMagic && answer.error == 0;
  if (is_whole && fd >= 0) return fd;
  if (fd >= 0) rawSyscall(SYS_close, fd);
  return answer.error == 0 ? -EPROTO : -static_cast<long>(answer.error);
}

long ask(long socket, const wire::LogRequest& request) {
  const timeval patience = process.settings.drops_when_slow
                               ? timeval{.tv_sec = 0, .tv_usec = 200000}
                               : timeval{.tv_sec = 5, .tv_usec = 0};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    rawSyscall(SYS_setsockopt, socket, SOL_SOCKET, option, address(&patience), sizeof patience);
  }
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  Text text(name.sun_path + 1, sizeof name.sun_path - 1);
  text.put(wire::kLogSocketPrefix).putHex(request.run.high, 16).putHex(request.run.low, 16);
  text.putByte('-').putNumber(runIdentity().run.supervisor.pid);
  const auto bytes = offsetof(sockaddr_un, sun_path) + 1 + text.size();
  const long connected = rawSyscall(SYS_connect, socket, address(&name), static_cast<long>(bytes));
  if (connected < 0) return connected;
  const long sent =
      rawSyscall(SYS_sendto, socket, address(&request), sizeof request, MSG_NOSIGNAL, 0, 0);
  if (sent != static_cast<long>(sizeof request)) return sent < 0 ? sent : -EPROTO;
  return receive(socket);
}

}  // namespace

long requestLog(wire::LogRequestKind kind, const char* path, long error) {
  const wire::Run& run = runIdentity().run;
  if (!isRefusal(error) || !run.id.isSet() || run.supervisor.pid == 0 || !mayAsk()) return error;
  const std::uint64_t now = wire::systemNs(CLOCK_MONOTONIC);
  if (now < vain_until_ns.load(std::memory_order_relaxed)) return error;
  wire::LogRequest request;
  request.run = run.id;
  request.kind = kind;
  request.error = static_cast<std::uint32_t>(-error);
  request.pid = static_cast<std::uint32_t>(rawSyscall(SYS_getpid));
  Text(request.name, sizeof request.name).put(fileName(path));
  const long socket = rawSyscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (socket < 0) return socket == -EMFILE || socket == -ENFILE ? socket : error;
  const long result = ask(socket, request);
  rawSyscall(SYS_close, socket);
  if (result >= 0 || result == -EEXIST) return result;
  if (result == -EAGAIN || result == -EINPROGRESS) {
    vain_until_ns.store(now + 60 * kSecondNs, std::memory_order_relaxed);
  }
  return error;
}

}  // namespace omnio::trace
