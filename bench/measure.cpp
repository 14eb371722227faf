#include "bench/measure.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sstream>
#include <thread>
#include <type_traits>
#include <vector>

#include "core/wire/clock.hpp"

namespace omnio::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytes = 4096;
constexpr long kFileBytes = 64L << 20;  // rewritten in place: tmpfs keeps its pages
constexpr long kPiecesOfFile = kFileBytes / static_cast<long>(kBytes);

struct Functions {
  decltype(&::pwrite) pwrite;
  decltype(&::pread) pread;
  decltype(&::lseek) lseek;
  decltype(&::write) write;
  decltype(&std::fwrite) fwrite;
};

// The functions that a program calls: the tracer's, when it is preloaded.
Functions boundFunctions() { return {::pwrite, ::pread, ::lseek, ::write, std::fwrite}; }

Functions functionsOfTheCLibrary() {
  const Library library = {dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD)};
  return {library["pwrite"], library["pread"], library["lseek"], library["write"],
          library["fwrite"]};
}

double measureFloor(long blocks) {
  static thread_local std::array<std::uint64_t, 4 * 2048> store{};
  std::vector<double> costs;
  for (long block = 0; block < blocks; ++block) {
    costs.push_back(blockCost(0, [&](long i) {
      const std::uint64_t start = wire::counterTicks();
      const std::uint64_t end = wire::counterTicks();
      volatile std::uint64_t* at = &store[static_cast<std::size_t>(i % 2048) * 4];
      at[0] = start;
      at[1] = end;
      at[2] = static_cast<std::uint64_t>(i);
      at[3] = kBytes;
    }));
  }
  return median(std::move(costs));
}

Figures measureInThread(const fs::path& file, long calls) {
  const int fd = open(file.c_str(), O_RDWR | O_CREAT, 0644);
  if (fd < 0) return {};
  std::array<char, kBytes> data{};
  bool whole = true;
  for (long i = 0; i < kPiecesOfFile; ++i) {
    whole &= pwrite(fd, data.data(), kBytes, i * static_cast<long>(kBytes)) ==
             static_cast<ssize_t>(kBytes);
  }
  Figures figures;
  const ByTurns<Functions> comparison(calls, boundFunctions(), functionsOfTheCLibrary());
  comparison.measure(kCalls[0], figures, [&](const Functions& use, long i) {
    whole &= use.pwrite(fd, data.data(), 8, i * 8 % kFileBytes) == 8;
  });
  comparison.measure(kCalls[1], figures, [&](const Functions& use, long i) {
    whole &= use.pread(fd, data.data(), 8, i * 8 % kFileBytes) == 8;
  });
  comparison.measure(kCalls[2], figures, [&](const Functions& use, long i) {
    whole &= use.lseek(fd, i * 8 % kFileBytes, SEEK_SET) == i * 8 % kFileBytes;
  });
  comparison.measure(kCalls[3], figures, [&](const Functions& use, long i) {
    if (i % kPiecesOfFile == 0) lseek(fd, 0, SEEK_SET);
    whole &= use.write(fd, data.data(), kBytes) == static_cast<ssize_t>(kBytes);
  });
  lseek(fd, 0, SEEK_SET);
  std::FILE* stream = fdopen(fd, "r+");
  comparison.measure(kCalls[4], figures, [&](const Functions& use, long i) {
    if (i * 64 % kFileBytes == 0) std::rewind(stream);
    whole &= use.fwrite(data.data(), 1, 64, stream) == 64;
  });
  figures[kFloor] = measureFloor(comparison.blocks());
  whole &= std::fclose(stream) == 0;
  return whole ? figures : Figures{};
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void warmMemory() {
  constexpr std::size_t kEnough = 64U << 20;
  void* memory = mmap(nullptr, kEnough, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory != MAP_FAILED) munmap(memory, kEnough);
}

std::string addedBy(const std::string& call) { return call + " added"; }

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

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

std::string readAll(int fd) {
  std::string text;
  char part[4096];
  while (true) {
    const ssize_t bytes = read(fd, part, sizeof part);
    if (bytes <= 0) return text;
    text.append(part, static_cast<std::size_t>(bytes));
  }
}

Figures figuresIn(const std::string& text) {
  Figures figures;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    figures[line.substr(0, equals)] = strtod(line.c_str() + equals + 1, nullptr);
  }
  return figures;
}

// Becomes the command, with the library preloaded or with none; does not return.
[[noreturn]] void become(std::vector<std::string> command, const fs::path& library,
                         const fs::path& trace) {
  unsetenv("LD_PRELOAD");
  unsetenv("OMNIO_DIR");
  if (!library.empty()) {
    setenv("LD_PRELOAD", library.c_str(), 1);
    setenv("OMNIO_DIR", trace.c_str(), 1);
  }
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  _exit(127);
}

}  // namespace

std::optional<ChildRun> runChild(const std::vector<std::string>& command,
                                 const std::filesystem::path& library,
                                 const std::filesystem::path& trace) {
  using Clock = std::chrono::steady_clock;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const auto before = Clock::now();
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    become(command, library, trace);
  }
  close(ends[1]);
  const std::string output = readAll(ends[0]);
  close(ends[0]);
  int status = 0;
  rusage used{};
  if (pid < 0 || wait4(pid, &status, 0, &used) != pid || status != 0) return std::nullopt;
  return ChildRun{
      .figures = figuresIn(output),
      .cpu_ns = (seconds(used.ru_utime) + seconds(used.ru_stime)) * 1e9,
      .wall_ns = std::chrono::duration<double, std::nano>(Clock::now() - before).count(),
      .peak_kib = static_cast<double>(used.ru_maxrss)};
}

}  // namespace omnio::bench
