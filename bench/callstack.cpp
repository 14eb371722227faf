// Measures what call stacks add to a recorded call: thread-CPU time of a pwrite of 8 bytes below 20
// frames with frame pointers, without stacks and with stacks of 1, 4, 8 and 16 frames.
//
//   callstack [--rounds 9] [--calls 500000] [--library LIB]... [--data DIR]
//
// Each round runs a child untraced, and traced in each way, in turn. The child makes the call by
// turns as any program does and by the C library itself, a few milliseconds each: what it takes
// more, less the same figure of the untraced child, is what the tracer adds. With several libraries
// the cost without stacks is measured for each: an older build tells what it costs that there could
// be stacks. Printed are medians over the rounds.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "core/base/command_line.hpp"

namespace omnio::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCall = "pwrite";
constexpr int kFramesAbove = 20;
constexpr long kFileBytes = 1L << 20;

struct Functions {
  ssize_t (*pwrite)(int, const void*, size_t, off_t);
};

// Compiled with frame pointers, as all of this source is.
[[gnu::noinline]] void measureBelow(int frames, const ByTurns<Functions>& turns, int fd,
                                    Figures& figures) {
  if (frames > 0) {
    measureBelow(frames - 1, turns, fd, figures);
  } else {
    turns.measure(kCall, figures, [fd](const Functions& use, long i) {
      use.pwrite(fd, "omnio...", 8, i * 8 % kFileBytes);
    });
  }
  asm volatile("" : : : "memory");  // a call and no jump
}

int beChild(const fs::path& folder, long calls) {
  const Library libc{dlopen("libc.so.6", RTLD_LAZY)};
  const Functions bound{.pwrite = Symbol{dlsym(RTLD_DEFAULT, "pwrite64")}};
  const Functions direct{.pwrite = libc["pwrite64"]};
  const fs::path file = folder / fmt::format("data-{}", getpid());
  const int fd = open(file.c_str(), O_RDWR | O_CREAT, 0644);
  if (fd < 0 || bound.pwrite == nullptr || direct.pwrite == nullptr) return 1;
  Figures figures;
  measureBelow(kFramesAbove, ByTurns<Functions>(calls, bound, direct), fd, figures);
  close(fd);
  unlink(file.c_str());
  printFigures(figures);
  return 0;
}

struct Way {
  std::string name;
  fs::path library;
  std::string frames;  // as OMNIO_CALLSTACK has it
  std::vector<double> added{};
};

std::optional<double> runOnce(const std::vector<std::string>& command, const Way& way,
                              const fs::path& scratch) {
  const fs::path trace = scratch / "trace";
  fs::create_directories(trace);
  setenv("OMNIO_CALLSTACK", way.frames.c_str(), 1);
  warmMemory();
  const std::optional<ChildRun> run = runChild(command, way.library, trace);
  fs::remove_all(trace);
  if (!run) return std::nullopt;
  return run->figures.at(addedBy(kCall));
}

int compare(int rounds, long calls, const std::vector<std::string>& libraries,
            const std::string& data) {
  const std::string self = fs::read_symlink("/proc/self/exe").native();
  // Below no path that the default filters leave out, as /dev/shm itself would be.
  setenv("OMNIO_INCLUDE", "*", 1);
  std::string scratch = (fs::path(data) / "omnio-bench-XXXXXX").native();
  if (mkdtemp(scratch.data()) == nullptr) {
    std::perror(scratch.c_str());
    return 1;
  }
  std::vector<Way> ways = {{.name = "untraced", .library = {}, .frames = "0"}};
  for (const std::string& library : libraries) {
    ways.push_back({.name = "without stacks: " + library, .library = library, .frames = "0"});
  }
  const std::size_t without = ways.size() - 1;
  for (const char* frames : {"1", "4", "8", "16"}) {
    ways.push_back(
        {.name = fmt::format("{} frames", frames), .library = libraries.back(), .frames = frames});
  }
  const std::vector<std::string> command = {self, "--child", scratch, "--calls",
                                            std::to_string(calls)};
  for (int round = 0; round < rounds; ++round) {
    for (Way& way : ways) {
      const std::optional<double> added = runOnce(command, way, scratch);
      if (!added) {
        fmt::print(stderr, "callstack: {}: a run failed\n", way.name);
        fs::remove_all(scratch);
        return 1;
      }
      way.added.push_back(*added - (&way == ways.data() ? 0 : ways[0].added.back()));
    }
  }
  fs::remove_all(scratch);
  fmt::print("{} rounds of {} calls, medians: added thread-CPU ns a pwrite of 8 bytes\n", rounds,
             calls);
  for (std::size_t i = 1; i < ways.size(); ++i) {
    std::vector<double> differences;
    for (std::size_t k = 0; k < ways[i].added.size(); ++k) {
      differences.push_back(ways[i].added[k] - ways[without].added[k]);
    }
    fmt::print("{:8.1f}  {:+7.1f}  {}\n", median(ways[i].added), median(differences), ways[i].name);
  }
  return 0;
}

}  // namespace
}  // namespace omnio::bench

int main(int argc, char** argv) {
  const omnio::base::Program app("What call stacks add to a recorded call", "callstack");
  int rounds = 9;
  long calls = 500000;
  std::vector<std::string> libraries;
  std::string data = "/dev/shm";
  std::string child;
  app.option("--rounds", rounds, "Runs of each kind").positive();
  app.option("--calls", calls, "Calls in a run").positive();
  app.option("--library", libraries,
             "The tracer to preload; the stacks are measured with the last one")
      .repeatable();
  app.option("--data", data, "Folder of the file that is written, and of the traces (tmpfs)");
  app.option("--child", child, "").hidden();
  const omnio::base::Parsed parsed = app.parse(argc, argv);
  if (parsed.outcome != omnio::base::Parsed::Outcome::kRun) {
    const bool asked = parsed.outcome == omnio::base::Parsed::Outcome::kShown;
    fmt::print(asked ? stdout : stderr, "{}\n", parsed.text);
    return asked ? 0 : 2;
  }
  if (!child.empty()) return omnio::bench::beChild(child, calls);
  if (libraries.empty()) libraries = {OMNIO_BENCH_LIBRARY};
  return omnio::bench::compare(rounds, calls, libraries, data);
}
