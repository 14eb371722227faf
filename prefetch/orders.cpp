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

std::optional<Order> receive(int socket) {
  char word = 0;
  if (recv(socket, &word, 1, MSG_DONTWAIT) != 1) return {};
  return static_cast<Order>(word);
}

}  // namespace omnio::prefetch
