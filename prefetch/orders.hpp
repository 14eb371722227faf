// Orders to a running helper: datagrams of one byte to its abstract socket, whose name the kernel
// takes back at its end.
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

// Sends an order to the helper of a run of this user in this network namespace, without waiting.
// False where there is none; one with too many orders before it counts as there.
bool send(const wire::RunId& run, Order order);
// To all helpers of this user there; returns how many took it. 0 also where /proc/net/unix cannot
// be read.
std::size_t sendToAll(Order order);
// Once, on the helper's socket: any user of the node may send to it, and the kernel is to say which
// one has. False where it does not: then receive() takes no order.
bool acceptOrders(int socket);
// The next order of this user, or of root, without waiting; others are dropped. Nothing where there
// is none.
std::optional<Order> receive(int socket);

}  // namespace omnio::prefetch
