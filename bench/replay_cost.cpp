// As many small writes as a program can make, one behind the other: what a replay's own work is
// measured against (replay_cost.py).
//
//   replay_cost CALLS FILE      a new FILE of 4 bytes a call
//
// Prints the time from the beginning of the first write to the end of the last, in ns.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

}  // namespace

int main(int count, char** words) {
  const std::int64_t calls = count == 3 ? std::atoll(words[1]) : 0;
  if (calls < 1) {
    std::fputs("usage: replay_cost CALLS FILE\n", stderr);
    return 2;
  }
  const int fd = open(words[2], O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (fd < 0) fail(words[2]);
  constexpr std::array<char, 4> kData = {'o', 'm', 'n', 'i'};
  const std::int64_t begin = now();
  for (std::int64_t i = 0; i < calls; ++i) {
    const auto offset = i * static_cast<std::int64_t>(kData.size());
    if (pwrite(fd, kData.data(), kData.size(), offset) != static_cast<ssize_t>(kData.size())) {
      fail("pwrite");
    }
  }
  std::printf("%lld\n", static_cast<long long>(now() - begin));
  close(fd);
}
