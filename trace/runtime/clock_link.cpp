#include "trace/runtime/clock_link.hpp"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "core/wire/clock.hpp"
#include "core/wire/hex_number.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {
namespace {

constexpr std::size_t kMostAddresses = 16;
constexpr std::uint64_t kNsPerS = 1'000'000'000;

std::uint32_t hostOrder(std::uint32_t network) {
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(network) : network;
}
std::uint16_t hostOrder(std::uint16_t network) {
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap16(network) : network;
}

struct Addresses {
  std::uint32_t list[kMostAddresses] = {};
  std::size_t count = 0;

  void add(std::uint32_t address) {
    if (count < kMostAddresses && !has(address)) list[count++] = address;
  }
  bool has(std::uint32_t address) const {
    return std::find(list, list + count, address) != list + count;
  }
};

int newSocket() {
  return static_cast<int>(
      rawSyscall(SYS_socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// This node's, without the loopback where there is another.
Addresses ownAddresses() {
  ifreq interfaces[2 * kMostAddresses];
  ifconf all = {};
  all.ifc_len = sizeof interfaces;
  all.ifc_req = interfaces;
  Addresses found;
  const int socket = newSocket();
  if (socket < 0) return found;
  const bool is_told = rawSyscall(SYS_ioctl, socket, SIOCGIFCONF, address(&all)) == 0;
  rawSyscall(SYS_close, socket);
  if (!is_told) return found;
  for (std::size_t i = 0; i < static_cast<std::size_t>(all.ifc_len) / sizeof(ifreq); ++i) {
    sockaddr_in place{};
    std::memcpy(&place, &interfaces[i].ifr_addr, sizeof place);
    const std::uint32_t number = hostOrder(place.sin_addr.s_addr);
    if (place.sin_family == AF_INET && number >> 24 != IN_LOOPBACKNET) found.add(number);
  }
  if (found.count == 0) found.add(INADDR_LOOPBACK);
  return found;
}

// What both nodes have leads back here (the bridge of a container service has the same address
// everywhere), unless the two are one machine.
Addresses reachable(const Addresses& theirs) {
  const Addresses own = ownAddresses();
  Addresses elsewhere;
  for (std::size_t i = 0; i < theirs.count; ++i) {
    if (!own.has(theirs.list[i])) elsewhere.add(theirs.list[i]);
  }
  return elsewhere.count > 0 ? elsewhere : theirs;
}

template <typename Value>
void setOption(int socket, int level, int name, const Value& value) {
  rawSyscall(SYS_setsockopt, socket, level, name, address(&value), sizeof value);
}

void makeReady(int socket) {
  setOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  setOption(socket, SOL_SOCKET, SO_LINGER, linger{.l_onoff = 1, .l_linger = 0});
}

// How many of them have something to tell; 0 when there was nothing until then.
long waitFor(pollfd* sockets, std::size_t count, std::uint64_t until_ns) {
  while (true) {
    const std::uint64_t time = linkNow();
    const std::uint64_t rest = until_ns > time ? until_ns - time : 0;
    const timespec most = {.tv_sec = static_cast<time_t>(rest / kNsPerS),
                           .tv_nsec = static_cast<long>(rest % kNsPerS)};
    const long ready = rawSyscall(SYS_ppoll, address(sockets), static_cast<long>(count),
                                  address(&most), 0, sizeof(std::uint64_t));
    if (ready != -EINTR) return ready;
  }
}

// The connection that is made first; the others are given up.
int firstOf(pollfd* tried, std::size_t count, std::uint64_t until_ns) {
  int made = -1;
  for (std::size_t left = count; made < 0 && left > 0 && waitFor(tried, count, until_ns) > 0;) {
    for (std::size_t i = 0; i < count && made < 0; ++i) {
      if (tried[i].revents == 0) continue;
      int error = 0;
      socklen_t bytes = sizeof error;
      rawSyscall(SYS_getsockopt, tried[i].fd, SOL_SOCKET, SO_ERROR, address(&error),
                 address(&bytes));
      if (error == 0) {
        made = tried[i].fd;
      } else {
        rawSyscall(SYS_close, tried[i].fd);
        --left;
      }
      tried[i].fd = -1;  // poll(2) passes over it
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (tried[i].fd >= 0) rawSyscall(SYS_close, tried[i].fd);
  }
  return made;
}

}  // namespace

std::uint64_t linkNow() { return wire::systemNs(CLOCK_MONOTONIC); }

void OwnSocket::take(int socket) {
  constexpr long kHigh = 900;
  close();
  if (socket < 0) return;
  const long high = rawSyscall(SYS_fcntl, socket, F_DUPFD_CLOEXEC, kHigh);
  number_ = static_cast<int>(high >= 0 ? high : socket);
  if (high >= 0) rawSyscall(SYS_close, socket);
  struct stat s;
  inode_ = rawSyscall(SYS_fstat, number_, address(&s)) == 0 ? s.st_ino : 0;
}

bool OwnSocket::isOurs() const {
  struct stat s;
  return isOpen() && rawSyscall(SYS_fstat, number_, address(&s)) == 0 && S_ISSOCK(s.st_mode) &&
         s.st_ino == inode_;
}

void OwnSocket::close() {
  if (isOurs()) {
    rawSyscall(SYS_shutdown, number_, SHUT_RDWR);
    rawSyscall(SYS_close, number_);
  }
  number_ = -1;
}

bool ClockLink::connect(std::string_view text, std::uint64_t until_ns) {
  std::uint64_t port = 0;
  if (!wire::takeHexNumber(text, 4, port)) return false;
  Addresses theirs;
  while (text.starts_with(' ')) {
    text.remove_prefix(1);
    std::uint64_t number = 0;
    if (!wire::takeHexNumber(text, 8, number)) break;
    theirs.add(static_cast<std::uint32_t>(number));
  }
  const Addresses to = reachable(theirs);
  pollfd tried[kMostAddresses];
  std::size_t count = 0;
  for (std::size_t i = 0; i < to.count; ++i) {
    const int socket = newSocket();
    if (socket < 0) break;
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = hostOrder(static_cast<std::uint16_t>(port));
    place.sin_addr.s_addr = hostOrder(to.list[i]);
    const long result = rawSyscall(SYS_connect, socket, address(&place), sizeof place);
    if (result == 0 || result == -EINPROGRESS) {
      tried[count++] = {.fd = socket, .events = POLLOUT, .revents = 0};
    } else {
      rawSyscall(SYS_close, socket);
    }
  }
  socket_.take(firstOf(tried, count, until_ns));
  if (isOpen()) makeReady(socket_.number());
  return isOpen();
}

bool ClockLink::send(const void* message, std::size_t bytes) const {
  return rawSyscall(SYS_sendto, socket_.number(), address(message), static_cast<long>(bytes),
                    MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<long>(bytes);
}

bool ClockLink::receive(void* message, std::size_t bytes, std::uint64_t until_ns,
                        std::uint64_t spin_ns) const {
  const std::uint64_t begin = linkNow();
  std::size_t got = 0;
  while (true) {
    const long more =
        rawSyscall(SYS_recvfrom, socket_.number(), address(static_cast<char*>(message) + got),
                   static_cast<long>(bytes - got), MSG_DONTWAIT);
    if (more == 0 || (more < 0 && more != -EAGAIN && more != -EINTR)) return false;
    if (more > 0) got += static_cast<std::size_t>(more);
    if (got == bytes) return true;
    const std::uint64_t time = linkNow();
    if (time >= until_ns) return false;
    if (time - begin < spin_ns) continue;
    pollfd socket = {.fd = socket_.number(), .events = POLLIN, .revents = 0};
    if (waitFor(&socket, 1, until_ns) <= 0) return false;
  }
}

bool ClockPort::open() {
  constexpr long kWaiting = 64;
  socket_.take(newSocket());
  // Any address, and a port that the kernel chooses.
  if (socket_.isOpen() && rawSyscall(SYS_listen, socket_.number(), kWaiting) != 0) close();
  return socket_.isOpen();
}

void ClockPort::tell(Text& text) const {
  sockaddr_in place{};
  socklen_t bytes = sizeof place;
  if (rawSyscall(SYS_getsockname, socket_.number(), address(&place), address(&bytes)) != 0) return;
  text.putHex(hostOrder(place.sin_port), 1);
  const Addresses own = ownAddresses();
  for (std::size_t i = 0; i < own.count; ++i) text.putByte(' ').putHex(own.list[i], 8);
}

bool ClockPort::accept(ClockLink& link, std::uint64_t until_ns) const {
  if (!socket_.isOurs()) return false;
  pollfd socket = {.fd = socket_.number(), .events = POLLIN, .revents = 0};
  if (waitFor(&socket, 1, until_ns) <= 0) return false;
  const long made = rawSyscall(SYS_accept4, socket_.number(), 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (made < 0) return false;
  link.socket_.take(static_cast<int>(made));
  makeReady(link.socket_.number());
  return true;
}

}  // namespace omnio::trace
