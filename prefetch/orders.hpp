// What a helper is told while it runs, by datagrams to its socket.
#pragma once

#include <cstddef>
#include <optional>

#include "core/wire/run.hpp"

namespace omnio::prefetch {

enum class Order : char {
  kOff = '0',  // fetch nothing
  kOn = '1',
  kEnd = 'e',
};

// Sends an order to the helper of a run of this user on this node. False where there is none.
bool send(const wire::RunId& run, Order order);
// To all helpers of this user on this node; returns how many there are.
std::size_t sendToAll(Order order);
// Once, on the helper's socket: any user of the node may send to it, and the kernel is to say which
// one has.
bool acceptOrders(int socket);
// The next order of this user, or of root; nothing where there is none.
std::optional<Order> receive(int socket);

}  // namespace omnio::prefetch
