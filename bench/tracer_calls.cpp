#include "bench/tracer_calls.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

#include "core/wire/clock.hpp"

namespace omnio::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = 4096;
constexpr long kFileBytes = 64L << 20;  // rewritten in place: tmpfs keeps its pages
constexpr long kBlocksInFile = kFileBytes / static_cast<long>(kBlock);

double threadCpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <typename Call>
double measure(long calls, Call call) {
  const double before = threadCpuNs();
  for (long i = 0; i < calls; ++i) call(i);
  return (threadCpuNs() - before) / static_cast<double>(calls);
}

double measureFloor(long calls) {
  static thread_local std::array<std::uint64_t, 4 * 2048> store{};
  return measure(calls, [&](long i) {
    const std::uint64_t start = wire::counterTicks();
    const std::uint64_t end = wire::counterTicks();
    volatile std::uint64_t* at = &store[static_cast<std::size_t>(i % 2048) * 4];
    at[0] = start;
    at[1] = end;
    at[2] = static_cast<std::uint64_t>(i);
    at[3] = kBlock;
  });
}

Figures measureInThread(const fs::path& file, long calls) {
  const int fd = open(file.c_str(), O_RDWR | O_CREAT, 0644);
  if (fd < 0) return {};
  std::array<char, kBlock> block{};
  bool whole = true;
  for (long i = 0; i < kBlocksInFile; ++i) {
    whole &= pwrite(fd, block.data(), kBlock, i * static_cast<long>(kBlock)) ==
             static_cast<ssize_t>(kBlock);
  }
  Figures figures;
  figures[kCalls[0]] = measure(
      calls, [&](long i) { whole &= pwrite(fd, block.data(), 8, i * 8 % kFileBytes) == 8; });
  figures[kCalls[1]] =
      measure(calls, [&](long i) { whole &= pread(fd, block.data(), 8, i * 8 % kFileBytes) == 8; });
  figures[kCalls[2]] = measure(calls, [&](long i) {
    whole &= lseek(fd, i * 8 % kFileBytes, SEEK_SET) == i * 8 % kFileBytes;
  });
  figures[kCalls[3]] = measure(calls, [&](long i) {
    if (i % kBlocksInFile == 0) lseek(fd, 0, SEEK_SET);
    whole &= write(fd, block.data(), kBlock) == static_cast<ssize_t>(kBlock);
  });
  lseek(fd, 0, SEEK_SET);
  std::FILE* stream = fdopen(fd, "r+");
  figures[kCalls[4]] = measure(calls, [&](long i) {
    if (i * 64 % kFileBytes == 0) std::rewind(stream);
    whole &= std::fwrite(block.data(), 1, 64, stream) == 64;
  });
  figures[kFloor] = measureFloor(calls);
  whole &= std::fclose(stream) == 0;
  return whole ? figures : Figures{};
}

}  // namespace

Figures measureCalls(const fs::path& folder, long calls, int threads) {
  const std::string stem = (folder / fmt::format("data-{}", getpid())).native();
  std::vector<Figures> all(static_cast<std::size_t>(threads));
  std::vector<std::thread> others;
  const auto work = [&](int i) {
    all[static_cast<std::size_t>(i)] = measureInThread(fmt::format("{}-{}", stem, i), calls);
  };
  for (int i = 1; i < threads; ++i) others.emplace_back(work, i);
  work(0);
  for (std::thread& other : others) other.join();
  for (int i = 0; i < threads; ++i) unlink(fmt::format("{}-{}", stem, i).c_str());
  if (std::any_of(all.begin(), all.end(), [](const Figures& f) { return f.empty(); })) return {};
  Figures mean;
  for (const Figures& figures : all) {
    for (const auto& [name, value] : figures) mean[name] += value / threads;
  }
  return mean;
}

bool makeWrites(const fs::path& folder, long calls) {
  const fs::path file = folder / fmt::format("data-{}", getpid());
  const int fd = open(file.c_str(), O_RDWR | O_CREAT, 0644);
  if (fd < 0) return false;
  bool whole = true;
  for (long i = 0; i < calls; ++i) whole &= pwrite(fd, "omnio...", 8, i * 8 % kFileBytes) == 8;
  close(fd);
  unlink(file.c_str());
  return whole;
}

void printFigures(const Figures& figures) {
  for (const auto& [name, value] : figures) fmt::print("{}={:.3f}\n", name, value);
  std::fflush(stdout);
}

}  // namespace omnio::bench
