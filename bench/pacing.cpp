// A stream of writes at fixed times, each waited for by spinning: how exactly can a program on this
// machine begin its calls when they are due?
//
//   pacing RATE SECONDS FILE      in calls a second; a new FILE of up to 1 MiB
//
// Prints one line of JSON: how late calls began (mean, 99th percentile and maximum, in ns), and how
// long it was from the first call to the last, beside how long it should have been (in ns).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "bench/loop.hpp"

namespace {

using omnio::bench::fail;
using omnio::bench::nowNs;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kBytes = 4096;
constexpr std::int64_t kPlaces = 256;  // in the file

}  // namespace

int main(int count, char** words) {
  const std::int64_t rate = count == 4 ? std::atoll(words[1]) : 0;
  const std::int64_t seconds = count == 4 ? std::atoll(words[2]) : 0;
  if (rate < 1 || seconds < 1) {
    std::fputs("usage: pacing RATE SECONDS FILE\n", stderr);
    return 2;
  }
  const int fd = open(words[3], O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (fd < 0) fail(words[3]);
  const std::vector<char> data(kBytes, 'x');
  std::vector<std::int64_t> late(static_cast<std::size_t>(rate * seconds));
  std::int64_t last = 0;
  const std::int64_t begin = nowNs() + kSecond / 100;
  for (std::size_t i = 0; i < late.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    const std::int64_t due = begin + number * kSecond / rate;
    do {
      last = nowNs();
    } while (last < due);
    late[i] = last - due;
    const ssize_t written =
        pwrite(fd, data.data(), kBytes, number % kPlaces * static_cast<std::int64_t>(kBytes));
    if (written != static_cast<ssize_t>(kBytes)) fail("pwrite");
  }
  close(fd);
  const std::int64_t took = last - begin - late.front();
  const std::int64_t wanted = static_cast<std::int64_t>(late.size() - 1) * kSecond / rate;
  std::sort(late.begin(), late.end());
  const std::size_t p99 = (late.size() * 99 + 99) / 100 - 1;
  std::printf(
      "{\"mean_ns\": %.0f, \"p99_ns\": %lld, \"max_ns\": %lld, \"took_ns\": %lld, "
      "\"wanted_ns\": %lld}\n",
      static_cast<double>(std::accumulate(late.begin(), late.end(), std::int64_t{0})) /
          static_cast<double>(late.size()),
      static_cast<long long>(late[p99]), static_cast<long long>(late.back()),
      static_cast<long long>(took), static_cast<long long>(wanted));
}
