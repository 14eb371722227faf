#include "prefetch/orders.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>

#include "core/base/file.hpp"
#include "core/tracefile/trace_identity.hpp"
#include "core/wire/prefetch.hpp"

namespace omnio::prefetch {
namespace {

// Without the NUL that an abstract name begins with.
bool sendTo(const std::string& name, Order order) {
  const base::Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!socket || name.size() + 1 > sizeof address.sun_path) return false;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const char word = static_cast<char>(order);
  // One that has many orders before it is there, too.
  return sendto(socket.get(), &word, 1, MSG_DONTWAIT | MSG_NOSIGNAL,
                reinterpret_cast<const sockaddr*>(&address), bytes) == 1 ||
         errno == EAGAIN;
}

std::string prefixOfUser() { return fmt::format("{}{}-", wire::kPrefetchSocketPrefix, geteuid()); }

}  // namespace

bool send(const wire::RunId& run, Order order) {
  return sendTo(prefixOfUser() + tracefile::runIdText(run), order);
}

std::size_t sendToAll(Order order) {
  std::ifstream in("/proc/net/unix");
  std::size_t count = 0;
  const std::string prefix = '@' + prefixOfUser();
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.rfind(prefix);
    if (at != std::string::npos && sendTo(line.substr(at + 1), order)) ++count;
  }
  return count;
}

bool acceptOrders(int socket) {
  const int on = 1;
  return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0;
}

std::optional<Order> receive(int socket) {
  while (true) {
    char word = 0;
    iovec piece{.iov_base = &word, .iov_len = 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))] = {};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(socket, &message, MSG_DONTWAIT) != 1) return {};
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
    if (sender.uid == geteuid() || sender.uid == 0) return static_cast<Order>(word);
  }
}

}  // namespace omnio::prefetch
