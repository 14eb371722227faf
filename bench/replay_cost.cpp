// Makes small writes one after the other, as fast as it can. replay_cost.py measures a replay
// against it.
//
//   replay_cost CALLS FILE      a new FILE of 4 bytes a call
//
// Prints the time from the beginning of the first write to the end of the last, in ns.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "bench/loop.hpp"

using omnio::bench::fail;
using omnio::bench::nowNs;

int main(int count, char** words) {
  const std::int64_t calls = count == 3 ? std::atoll(words[1]) : 0;
  if (calls < 1) {
    std::fputs("usage: replay_cost CALLS FILE\n", stderr);
    return 2;
  }
  const int fd = open(words[2], O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (fd < 0) fail(words[2]);
  constexpr std::array<char, 4> kData = {'o', 'm', 'n', 'i'};
  const std::int64_t begin = nowNs();
  for (std::int64_t i = 0; i < calls; ++i) {
    const auto offset = i * static_cast<std::int64_t>(kData.size());
    if (pwrite(fd, kData.data(), kData.size(), offset) != static_cast<ssize_t>(kData.size())) {
      fail("pwrite");
    }
  }
  std::printf("%lld\n", static_cast<long long>(nowNs() - begin));
  close(fd);
}
