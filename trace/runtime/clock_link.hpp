// How processes of two nodes talk that compare their clocks: by TCP (IPv4), past MPI, so that
// nothing of it meets the application's messages. Every wait has an end, and every failure is a
// return value. A peer that dies closes its side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {

// Nanoseconds of CLOCK_MONOTONIC, as the readings that are compared.
std::uint64_t linkNow();

// A socket under a number that applications rarely hand out. It stays open until close(): a static
// object in the tracer has no destructor, which would run while the application's last calls still
// come.
class OwnSocket {
 public:
  OwnSocket() = default;
  explicit OwnSocket(int socket) { take(socket); }
  OwnSocket(const OwnSocket&) = delete;
  OwnSocket& operator=(const OwnSocket&) = delete;

  void take(int socket);
  int number() const { return number_; }
  bool isOpen() const { return number_ >= 0; }
  // The application may have closed it meanwhile, and use the number.
  bool isOurs() const;
  // Also for a child that was forked meanwhile, and has it too.
  void close();

 private:
  int number_ = -1;
  std::uint64_t inode_ = 0;
};

// A connection; one at a time.
class ClockLink {
 public:
  ClockLink() = default;
  explicit ClockLink(int socket) : socket_(socket) {}
  ClockLink(const ClockLink&) = delete;
  ClockLink& operator=(const ClockLink&) = delete;
  ~ClockLink() { close(); }

  // To the first that answers of the addresses, as ClockPort::tell() put them.
  bool connect(std::string_view text, std::uint64_t until_ns);
  bool isOpen() const { return socket_.isOpen(); }
  // Messages are short: one always fits into what the kernel keeps of a connection.
  bool send(const void* message, std::size_t bytes) const;
  // Looks for it so long before it sleeps until it comes.
  bool receive(void* message, std::size_t bytes, std::uint64_t until_ns,
               std::uint64_t spin_ns) const;
  // By a reset: no port stays taken for a minute, as it does by the rules of TCP.
  void close() { socket_.close(); }

 private:
  friend class ClockPort;
  OwnSocket socket_;
};

// Where the others connect to. It stays open until close().
class ClockPort {
 public:
  bool open();
  // "PORT ADDRESS ADDRESS ...": hexadecimal, with each address of this node as one number.
  void tell(Text& text) const;
  // The next who has connected until then.
  bool accept(ClockLink& link, std::uint64_t until_ns) const;
  void close() { socket_.close(); }

 private:
  OwnSocket socket_;
};

}  // namespace omnio::trace
