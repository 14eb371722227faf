// Measures what call stacks add to a recorded call: thread-CPU time of a pwrite of 8 bytes without
// stacks and with stacks of so many frames, in two places: below 20 frames with frame pointers, and
// inside of an H5Dwrite of Debian's HDF5, which has none. And what they add to an H5Dwrite that
// writes 64 bytes.
//
//   callstack [--rounds 9] [--calls 500000] [--library LIB]... [--hdf5 LIB] [--data DIR]
//
// Each round runs a child untraced, and traced in each way, in turn. The child makes the call by
// turns as any program does and by the C library itself, a few milliseconds each: what it takes
// more, less the same figure of the untraced child, is what the tracer adds. With several libraries
// the cost without stacks is measured for each: an older build tells what it costs that there could
// be stacks. Printed are medians over the rounds.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/hdf5_calls.hpp"
#include "bench/measure.hpp"
#include "core/base/command_line.hpp"

namespace omnio::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCall = "pwrite";
constexpr const char* kCallInHdf5 = "pwrite inside of H5Dwrite";
constexpr const char* kHdf5Write = "H5Dwrite";
constexpr const char* kHdf5Frames = "frames inside of H5Dwrite";  // of the stack, all together
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

// The same inside of HDF5.
bool measureHdf5(const std::string& name, const fs::path& file, const ByTurns<Functions>& turns,
                 int fd, Figures& figures) {
  Hdf5 hdf5(name);
  if (!hdf5.isThere()) return true;
  bool is_done = hdf5.callBelowWrite(file, [&] {
    void* frames[64];
    figures[kHdf5Frames] = backtrace(frames, 64);
    turns.measure(kCallInHdf5, figures, [fd](const Functions& use, long i) {
      use.pwrite(fd, "omnio...", 8, i * 8 % kFileBytes);
    });
  });
  is_done &= hdf5.withWrites(file, [&](const std::function<void()>& write) {
    std::vector<double> costs;
    for (long block = -kWarmUpBlocks; block < turns.blocks(); ++block) {
      const double cost = blockCost(0, [&](long) { write(); });
      if (block >= 0) costs.push_back(cost);
    }
    figures[kHdf5Write] = median(std::move(costs));
  });
  unlink(file.c_str());
  return is_done;
}

int beChild(const fs::path& folder, long calls, const std::string& hdf5) {
  const Library libc{dlopen("libc.so.6", RTLD_LAZY)};
  const Functions bound{.pwrite = Symbol{dlsym(RTLD_DEFAULT, "pwrite64")}};
  const Functions direct{.pwrite = libc["pwrite64"]};
  const fs::path file = folder / fmt::format("data-{}", getpid());
  const int fd = open(file.c_str(), O_RDWR | O_CREAT, 0644);
  if (fd < 0 || bound.pwrite == nullptr || direct.pwrite == nullptr) return 1;
  Figures figures;
  const ByTurns<Functions> turns(calls, bound, direct);
  measureBelow(kFramesAbove, turns, fd, figures);
  const fs::path hdf5_file = folder / fmt::format("data-{}.h5", getpid());
  if (!measureHdf5(hdf5, hdf5_file, turns, fd, figures)) return 1;
  close(fd);
  unlink(file.c_str());
  printFigures(figures);
  return 0;
}

struct Way {
  std::string name;
  fs::path library;
  std::string frames;                                  // as OMNIO_CALLSTACK has it
  std::map<std::string, std::vector<double>> added{};  // by the figure
};

std::optional<Figures> runOnce(const std::vector<std::string>& command, const Way& way,
                               const fs::path& scratch) {
  const fs::path trace = scratch / "trace";
  fs::create_directories(trace);
  setenv("OMNIO_CALLSTACK", way.frames.c_str(), 1);
  warmMemory();
  const std::optional<ChildRun> run = runChild(command, way.library, trace);
  fs::remove_all(trace);
  if (!run) return std::nullopt;
  return run->figures;
}

// How a figure is told, which some children may not have.
void print(const std::vector<Way>& ways, std::size_t without, const std::string& figure,
           const std::string& what) {
  if (!ways[0].added.contains(figure)) return;
  fmt::print("{}\n", what);
  for (std::size_t i = 1; i < ways.size(); ++i) {
    const std::vector<double>& added = ways[i].added.at(figure);
    std::vector<double> differences;
    for (std::size_t k = 0; k < added.size(); ++k) {
      differences.push_back(added[k] - ways[without].added.at(figure)[k]);
    }
    fmt::print("{:8.1f}  {:+7.1f}  {}\n", median(added), median(differences), ways[i].name);
  }
}

int compare(int rounds, long calls, const std::vector<std::string>& libraries,
            const std::string& hdf5, const std::string& data) {
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
  for (const char* frames : {"1", "4", "8", "16", "20", "auto"}) {
    ways.push_back({.name = fmt::format("--callstack={}", frames),
                    .library = libraries.back(),
                    .frames = frames});
  }
  const std::vector<std::string> command = {
      self, "--child", scratch, "--calls", std::to_string(calls), "--hdf5", hdf5};
  for (int round = 0; round < rounds; ++round) {
    for (Way& way : ways) {
      const std::optional<Figures> figures = runOnce(command, way, scratch);
      if (!figures) {
        fmt::print(stderr, "callstack: {}: a run failed\n", way.name);
        fs::remove_all(scratch);
        return 1;
      }
      for (const std::string& figure : {addedBy(kCall), addedBy(kCallInHdf5),
                                        std::string(kHdf5Write), std::string(kHdf5Frames)}) {
        const auto found = figures->find(figure);
        if (found == figures->end()) continue;
        const bool is_first = &way == ways.data();
        way.added[figure].push_back(found->second - (is_first ? 0 : ways[0].added[figure].back()));
      }
    }
  }
  fs::remove_all(scratch);
  fmt::print(
      "{} rounds of {} calls, medians: added thread-CPU ns a call, and more than without stacks\n",
      rounds, calls);
  print(ways, without, addedBy(kCall), "pwrite of 8 bytes, below 20 frames with frame pointers:");
  if (ways[0].added.contains(kHdf5Frames)) {
    print(ways, without, addedBy(kCallInHdf5),
          fmt::format("pwrite of 8 bytes inside of H5Dwrite, {} frames in all:",
                      ways[0].added.at(kHdf5Frames).back()));
  }
  print(ways, without, kHdf5Write, "H5Dwrite of 64 bytes, with one pwrite:");
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
  std::string hdf5;
  std::string child;
  app.option("--rounds", rounds, "Runs of each kind").positive();
  app.option("--calls", calls, "Calls in a run").positive();
  app.option("--library", libraries,
             "The tracer to preload; the stacks are measured with the last one")
      .repeatable();
  app.option("--hdf5", hdf5, "The HDF5 library (default: Debian's serial one, where it is there)");
  app.option("--data", data, "Folder of the file that is written, and of the traces (tmpfs)");
  app.option("--child", child, "").hidden();
  const omnio::base::Parsed parsed = app.parse(argc, argv);
  if (parsed.outcome != omnio::base::Parsed::Outcome::kRun) {
    const bool asked = parsed.outcome == omnio::base::Parsed::Outcome::kShown;
    fmt::print(asked ? stdout : stderr, "{}\n", parsed.text);
    return asked ? 0 : 2;
  }
  if (!child.empty()) return omnio::bench::beChild(child, calls, hdf5);
  if (libraries.empty()) libraries = {OMNIO_BENCH_LIBRARY};
  return omnio::bench::compare(rounds, calls, libraries, hdf5, data);
}
