// What tracing adds to a call: thread-CPU time with and without the preloaded tracer, beside the
// floor of the same run, two readings of the counter and a store of 32 bytes.
//
//   tracer [--rounds 9] [--calls 1000000] [--library LIB] [--data DIR] [--log DIR]
//
// Each round runs this program again as a child, once untraced and once traced, in turn, so that a
// machine that slows down or speeds up does so for both. Printed are medians over the rounds; the
// numbers of one run may be compared with each other, not with those of another machine.
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/trace.hpp"
#include "core/wire/clock.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::array kCalls = {"pwrite 8 B", "pread 8 B", "lseek", "write 4 KiB"};
constexpr const char* kFloor = "floor";
constexpr std::size_t kBlock = 4096;
constexpr long kFileBytes = 64L << 20;  // rewritten in place: tmpfs keeps its pages

double threadCpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <typename Call>
void measure(const char* name, long calls, Call call) {
  const double before = threadCpuNs();
  for (long i = 0; i < calls; ++i) call(i);
  fmt::print("{}={:.3f}\n", name, (threadCpuNs() - before) / static_cast<double>(calls));
}

// The child: the calls themselves, in a program that does nothing else.
int runCalls(const fs::path& file, long calls) {
  const int fd = open(file.c_str(), O_RDWR | O_CREAT, 0644);
  if (fd < 0) {
    std::perror(file.c_str());
    return 1;
  }
  static std::array<char, kBlock> block{};
  for (long at = 0; at < kFileBytes; at += static_cast<long>(kBlock)) {
    if (pwrite(fd, block.data(), kBlock, at) != static_cast<ssize_t>(kBlock)) return 1;
  }
  bool whole = true;
  measure(kCalls[0], calls,
          [&](long i) { whole &= pwrite(fd, block.data(), 8, i * 8 % kFileBytes) == 8; });
  measure(kCalls[1], calls,
          [&](long i) { whole &= pread(fd, block.data(), 8, i * 8 % kFileBytes) == 8; });
  measure(kCalls[2], calls,
          [&](long i) { whole &= lseek(fd, i * 8 % kFileBytes, SEEK_SET) == i * 8 % kFileBytes; });
  lseek(fd, 0, SEEK_SET);
  constexpr long kInFile = kFileBytes / static_cast<long>(kBlock);
  measure(kCalls[3], calls, [&](long i) {
    if (i % kInFile == 0) lseek(fd, 0, SEEK_SET);
    whole &= write(fd, block.data(), kBlock) == static_cast<ssize_t>(kBlock);
  });
  static std::array<std::uint64_t, 4 * 2048> store{};
  measure(kFloor, calls, [&](long i) {
    const std::uint64_t start = omnio::wire::counterTicks();
    const std::uint64_t end = omnio::wire::counterTicks();
    volatile std::uint64_t* at = &store[static_cast<std::size_t>(i % 2048) * 4];
    at[0] = start;
    at[1] = end;
    at[2] = static_cast<std::uint64_t>(i);
    at[3] = kBlock;
  });
  close(fd);
  return whole ? 0 : 1;
}

using Figures = std::map<std::string, double>;

// Runs this program as the child; traced when `library` is not empty. Empty when it failed.
Figures runChild(const fs::path& self, const fs::path& file, long calls, const fs::path& library,
                 const fs::path& log) {
  std::string command = fmt::format("env {} '{}' --child '{}' --calls {}",
                                    library.empty() ? std::string("-u LD_PRELOAD")
                                                    : fmt::format("OMNIO_DIR='{}' LD_PRELOAD='{}'",
                                                                  log.native(), library.native()),
                                    self.native(), file.native(), calls);
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) return {};
  Figures figures;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), static_cast<int>(line.size()), output) != nullptr) {
    const std::string text = line.data();
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      figures[text.substr(0, equals)] = std::strtod(text.c_str() + equals + 1, nullptr);
    }
  }
  return pclose(output) == 0 ? figures : Figures{};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Bytes of the log for each event in it; fails the run when events are missing.
double bytesAnEvent(const fs::path& log, double& events) {
  const auto trace = omnio::Trace::open(log);
  if (!trace || trace->processes().size() != 1 || !trace->processes().front()->account) return 0;
  const omnio::wire::Account& account = *trace->processes().front()->account;
  events = static_cast<double>(account.events_written);
  return account.events_lost > 0 ? 0 : static_cast<double>(account.file_bytes) / events;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What tracing adds to a call, beside the floor of the same run");
  int rounds = 9;
  long calls = 1000000;
  std::string library = OMNIO_BENCH_LIBRARY;
  std::string data = "/dev/shm";
  std::string log;
  std::string child;
  app.add_option("--rounds", rounds, "Runs of each side")->check(CLI::PositiveNumber);
  app.add_option("--calls", calls, "Calls of each kind in a run")->check(CLI::PositiveNumber);
  app.add_option("--library", library, "The tracer to preload");
  app.add_option("--data", data, "Folder of the file that is written (tmpfs)");
  app.add_option("--log", log, "Folder of the traces (default: as --data)");
  app.add_option("--child", child)->group("");
  CLI11_PARSE(app, argc, argv);
  if (!child.empty()) return runCalls(child, calls);

  const fs::path self = fs::read_symlink("/proc/self/exe");
  // Below no path that the default filters leave out, as /dev/shm itself would be.
  setenv("OMNIO_INCLUDE", "*", 1);
  std::string scratch = (fs::path(data) / "omnio-bench-XXXXXX").native();
  if (mkdtemp(scratch.data()) == nullptr) {
    std::perror(scratch.c_str());
    return 1;
  }
  const fs::path file = fs::path(scratch) / "data";
  const fs::path log_folder = log.empty() ? fs::path(scratch) : fs::absolute(log);

  std::map<std::string, std::vector<double>> untraced;
  std::map<std::string, std::vector<double>> traced;
  std::vector<double> bytes;
  double events = 0;
  for (int round = 0; round < rounds; ++round) {
    const fs::path trace = log_folder / fmt::format("trace-{}-{}", getpid(), round);
    fs::create_directories(trace);
    const Figures without = runChild(self, file, calls, {}, {});
    const Figures with = runChild(self, file, calls, library, trace);
    if (without.empty() || with.empty()) {
      fmt::print(stderr, "tracer: a child failed in round {}\n", round + 1);
      fs::remove_all(trace);
      fs::remove_all(scratch);
      return 1;
    }
    for (const auto& [name, value] : without) untraced[name].push_back(value);
    for (const auto& [name, value] : with) traced[name].push_back(value);
    bytes.push_back(bytesAnEvent(trace, events));
    fs::remove_all(trace);
  }
  fs::remove_all(scratch);
  if (*std::min_element(bytes.begin(), bytes.end()) <= 0) {
    fmt::print(stderr, "tracer: a trace could not be read or has lost events\n");
    return 1;
  }

  std::vector<double> floors = untraced[kFloor];
  floors.insert(floors.end(), traced[kFloor].begin(), traced[kFloor].end());
  const double floor = median(floors);
  fmt::print("{} rounds of {} calls, medians, thread-CPU ns a call; library {}\n", rounds, calls,
             fs::path(library).filename().native());
  fmt::print("{:<12} {:>9} {:>9} {:>9} {:>14}\n", "call", "untraced", "traced", "added",
             "added / floor");
  for (const char* name : kCalls) {
    std::vector<double> added;
    for (int i = 0; i < rounds; ++i) {
      const auto at = static_cast<std::size_t>(i);
      added.push_back(traced[name][at] - untraced[name][at]);
    }
    const double extra = median(added);
    fmt::print("{:<12} {:>9.1f} {:>9.1f} {:>9.1f} {:>14.2f}\n", name, median(untraced[name]),
               median(traced[name]), extra, extra / floor);
  }
  fmt::print("floor (two counter readings, 32-byte store): {:.1f} ns\n", floor);
  fmt::print("log: {:.2f} bytes an event, {:.0f} events a run\n", median(bytes), events);
  return 0;
}
