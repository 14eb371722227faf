// A large trace whose figures are known (regular_trace.hpp).
//
//   make_trace DIRECTORY EVENTS RANKS THREADS
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/support/regular_trace.hpp"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: make_trace DIRECTORY EVENTS RANKS THREADS\n", stderr);
    return 2;
  }
  const auto number = [argv](int at) {
    return static_cast<std::uint32_t>(std::strtoul(argv[at], nullptr, 10));
  };
  omnio::test::makeRegularTrace(
      argv[1],
      {.events = std::strtoull(argv[2], nullptr, 10), .ranks = number(3), .threads = number(4)});
  return 0;
}
