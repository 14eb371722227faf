// Measures the cost of tracing: thread-CPU time added to a call, beside the floor of the same run
// (two readings of the counter and a store of 32 bytes), in one thread, two threads and two MPI
// ranks; what a whole process, an empty program and MPI_Finalize take longer; bytes an event in the
// log; and what it adds to MPI calls. (A call of MPI-IO has a pwrite below it, which is recorded
// too: `by turns` is the MPI call's part, `whole child` what both add, more noisily.)
//
//   tracer [--rounds 9] [--calls 500000] [--library LIB] [--data DIR] [--log DIR]...
//
// Each round runs each child once untraced and once traced for each log folder, in turn. The child
// makes each call by turns as any program does, which is the tracer's when there is one, and of the
// C library itself, a few milliseconds each: what it takes more is the figure, less the same figure
// of the untraced child. Whole processes are compared as they are. Printed are medians over the
// rounds; the numbers of one run may be compared with each other, not with those of another
// machine.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "core/base/command_line.hpp"
#include "core/mpi/file_layout.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFinalize = "MPI_Finalize";
constexpr long kWholeCalls = 1000000;
constexpr int kEmptyRuns = 10;  // in a round: a start is short and noisy

// One way to make the calls.
struct Setting {
  std::string name;
  std::vector<std::string> command;
};

// A figure of all rounds, without the tracer and with its log in each of the folders.
using Rows = std::vector<std::vector<double>>;
struct Series {
  std::vector<double> untraced;
  Rows traced;  // by log folder
};

// The median of what each round added.
double added(const Series& series, std::size_t log) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < series.untraced.size(); ++i) {
    differences.push_back(series.traced[log][i] - series.untraced[i]);
  }
  return median(std::move(differences));
}

std::string fileSystemOf(const fs::path& folder) {
  struct statfs facts {};
  if (statfs(folder.c_str(), &facts) != 0) return "?";
  const auto type = static_cast<unsigned long>(facts.f_type);
  return mpi::parseFileLayout(fmt::format("{} {}", type, facts.f_bsize))->file_system;
}

class Bench {
 public:
  Bench(fs::path library, std::vector<fs::path> logs)
      : library_(std::move(library)), logs_(std::move(logs)) {}

  // Runs the command untraced and with each log, once; `take` gets each run with its number:
  // -1, or that of the log folder. False when one failed.
  template <typename Take>
  bool runByTurns(const std::vector<std::string>& command, Take take) {
    warmMemory();
    std::optional<ChildRun> run = runChild(command, {}, {});
    if (!run) return failed(command, "untraced");
    take(-1, *run, 0.0);
    for (std::size_t i = 0; i < logs_.size(); ++i) {
      const fs::path trace = logs_[i] / fmt::format("omnio-bench-trace-{}-{}", getpid(), ++traces_);
      fs::create_directories(trace);
      warmMemory();
      run = runChild(command, library_, trace);
      const std::optional<double> bytes = bytesAnEvent(trace);
      fs::remove_all(trace);
      if (!run) return failed(command, "traced");
      if (!bytes) return failed(command, "traced: the trace cannot be read, or has lost events,");
      take(static_cast<int>(i), *run, *bytes);
    }
    return true;
  }

  Series newSeries() const { return {.untraced = {}, .traced = Rows(logs_.size())}; }
  std::size_t logs() const { return logs_.size(); }
  const fs::path& log(std::size_t i) const { return logs_[i]; }

 private:
  static bool failed(const std::vector<std::string>& command, const char* how) {
    fmt::print(stderr, "tracer: {} {} failed\n", how, fmt::join(command, " "));
    return false;
  }

  // 0 of a trace without events; nothing when events are missing.
  static std::optional<double> bytesAnEvent(const fs::path& trace) {
    if (fs::is_empty(trace)) return 0;
    const auto opened = tracefile::Trace::open(trace);
    if (!opened) return std::nullopt;
    double bytes = 0;
    double events = 0;
    for (const auto& process : opened->processes()) {
      if (!process->account || process->account->events_lost > 0) return std::nullopt;
      bytes += static_cast<double>(process->account->file_bytes);
      events += static_cast<double>(process->account->events_written);
    }
    return events == 0 ? 0 : bytes / events;
  }

  fs::path library_;
  std::vector<fs::path> logs_;
  int traces_ = 0;
};

void put(Series& series, int log, double value) {
  (log < 0 ? series.untraced : series.traced[static_cast<std::size_t>(log)]).push_back(value);
}

// The measurements of all rounds.
struct Measured {
  std::vector<std::map<std::string, Series>> calls;  // by setting
  std::vector<double> floors;
  std::vector<double> bytes;  // an event, in one thread
  Series whole;
  Series empty;
};

bool measureRound(Bench& bench, const std::vector<Setting>& settings,
                  const std::vector<std::string>& whole, const std::vector<std::string>& empty,
                  Measured& out) {
  for (std::size_t s = 0; s < settings.size(); ++s) {
    const bool done =
        bench.runByTurns(settings[s].command, [&](int log, const ChildRun& run, double bytes) {
          for (const auto& [name, value] : run.figures) {
            Series& series = out.calls[s].try_emplace(name, bench.newSeries()).first->second;
            put(series, log, value);
            if (s == 0 && name == kFloor) out.floors.push_back(value);
          }
          if (s == 0 && log >= 0) out.bytes.push_back(bytes);
        });
    if (!done) return false;
  }
  if (!bench.runByTurns(whole, [&](int log, const ChildRun& run, double) {
        put(out.whole, log, run.cpu_ns / static_cast<double>(kWholeCalls));
      })) {
    return false;
  }
  for (int i = 0; i < kEmptyRuns; ++i) {
    if (!bench.runByTurns(empty, [&](int log, const ChildRun& run, double) {
          put(out.empty, log, run.wall_ns);
        })) {
      return false;
    }
  }
  return true;
}

void printCalls(const Bench& bench, const std::vector<Setting>& settings, const Measured& measured,
                double floor, std::size_t log) {
  fmt::print("\nlog on {} ({}): added thread-CPU ns a call\n", fileSystemOf(bench.log(log)),
             bench.log(log).native());
  fmt::print("{:<12} {:>9}", "call", "untraced");
  for (std::size_t s = 0; s < settings.size(); ++s) {
    fmt::print(" {:>11} {:>9}", settings[s].name, s == 0 ? "/ floor" : "/ 1 thr");
  }
  fmt::print("\n");
  for (const char* name : kCalls) {
    const double alone = added(measured.calls[0].at(addedBy(name)), log);
    fmt::print("{:<12} {:>9.1f}", name, median(measured.calls[0].at(name).untraced));
    for (std::size_t s = 0; s < settings.size(); ++s) {
      const double extra = added(measured.calls[s].at(addedBy(name)), log);
      fmt::print(" {:>11.1f} {:>9.2f}", extra, extra / (s == 0 ? floor : alone));
    }
    fmt::print("\n");
  }
  const double whole = added(measured.whole, log);
  const double pwrite = added(measured.calls[0].at(addedBy(kCalls[0])), log);
  fmt::print(
      "whole process of {} pwrites, start to exit: {:.1f} CPU ns a call added, {:.2f} times "
      "the call's\n",
      kWholeCalls, whole, whole / pwrite);
  fmt::print("empty program: {:.2f} ms, {:+.2f} ms traced\n",
             median(measured.empty.untraced) * 1e-6, added(measured.empty, log) * 1e-6);
  if (const auto at = measured.calls.back().find(kFinalize); at != measured.calls.back().end()) {
    fmt::print("MPI_Finalize: {:.2f} ms, {:+.2f} ms traced\n", median(at->second.untraced) * 1e-6,
               added(at->second, log) * 1e-6);
  }
}

// MPI calls, as the ranks measured them; nothing without MPI.
void printMpiCalls(const Bench& bench, const Measured& measured, std::size_t log) {
  const std::map<std::string, Series>& ranks = measured.calls.back();
  if (ranks.count(kMpiCalls[0]) == 0) return;
  fmt::print("\nMPI, log on {}: added thread-CPU ns in each of 2 ranks\n",
             fileSystemOf(bench.log(log)));
  fmt::print("{:<24} {:>9} {:>9} {:>11}\n", "call", "untraced", "by turns", "whole child");
  for (const char* name : kMpiCalls) {
    fmt::print("{:<24} {:>9.1f} {:>9.1f} {:>11.1f}\n", name, median(ranks.at(name).untraced),
               added(ranks.at(addedBy(name)), log), added(ranks.at(name), log));
  }
  const Series& there_and_back = ranks.at(kPingPong);
  fmt::print("2 ranks, there and back: {:.0f} ns of wall time, {:+.0f} ns traced (4 calls)\n",
             median(there_and_back.untraced), added(there_and_back, log));
}

std::vector<Setting> settingsFor(const std::string& self, const std::string& data, long calls) {
  const std::string count = std::to_string(calls);
  std::vector<Setting> settings = {
      {"1 thread", {self, "--child", data, "--calls", count, "--threads", "1"}},
      {"2 threads", {self, "--child", data, "--calls", count, "--threads", "2"}}};
  const fs::path mpi = fs::path(self).parent_path() / "tracer_mpi";
  if (fs::exists(mpi)) {
    if (geteuid() == 0) {
      setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
      setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    }
    settings.push_back(
        {"2 ranks", {"mpirun", "--oversubscribe", "-n", "2", mpi.native(), data, count}});
  } else {
    fmt::print("no MPI: two ranks and MPI_Finalize are not measured\n");
  }
  return settings;
}

int compare(int rounds, long calls, const fs::path& library, const fs::path& data,
            std::vector<fs::path> logs) {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  // Below no path that the default filters leave out, as /dev/shm itself would be.
  setenv("OMNIO_INCLUDE", "*", 1);
  std::string scratch = (data / "omnio-bench-XXXXXX").native();
  if (mkdtemp(scratch.data()) == nullptr) {
    std::perror(scratch.c_str());
    return 1;
  }
  Bench bench(library, std::move(logs));
  const std::vector<Setting> settings = settingsFor(self, scratch, calls);
  Measured measured;
  measured.calls.resize(settings.size());
  measured.whole = bench.newSeries();
  measured.empty = bench.newSeries();
  for (int round = 0; round < rounds; ++round) {
    if (!measureRound(bench, settings, {self, "--child", scratch, "--whole"}, {"/bin/true"},
                      measured)) {
      fs::remove_all(scratch);
      return 1;
    }
  }
  fs::remove_all(scratch);
  const double floor = median(measured.floors);
  fmt::print("{} rounds of {} calls, medians; library {}\n", rounds, calls,
             library.filename().native());
  fmt::print("floor (two counter readings, 32-byte store): {:.1f} ns\n", floor);
  fmt::print("log: {:.2f} bytes an event\n", median(measured.bytes));
  for (std::size_t log = 0; log < bench.logs(); ++log) {
    printCalls(bench, settings, measured, floor, log);
    printMpiCalls(bench, measured, log);
  }
  return 0;
}

}  // namespace
}  // namespace omnio::bench

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  const omnio::base::Program app(
      "What tracing adds to calls and processes, beside the floor of the same run", "tracer");
  int rounds = 9;
  long calls = 500000;
  int threads = 1;
  std::string library = OMNIO_BENCH_LIBRARY;
  std::string data = "/dev/shm";
  std::vector<std::string> logs;
  std::string child;
  bool whole = false;
  app.option("--rounds", rounds, "Runs of each kind").positive();
  app.option("--calls", calls, "Calls of each kind in a run").positive();
  app.option("--library", library, "The tracer to preload");
  app.option("--data", data, "Folder of the files that are written (tmpfs)");
  app.option("--log", logs,
             "Folder of the traces; may be given more than once (default: the "
             "folder of the data, and the one for temporary files)");
  app.option("--child", child, "").hidden();
  app.option("--threads", threads, "").hidden();
  app.flag("--whole", whole, "").hidden();
  const omnio::base::Parsed parsed = app.parse(argc, argv);
  if (parsed.outcome != omnio::base::Parsed::Outcome::kRun) {
    const bool asked = parsed.outcome == omnio::base::Parsed::Outcome::kShown;
    fmt::print(asked ? stdout : stderr, "{}\n", parsed.text);
    return asked ? 0 : 2;
  }
  if (whole) return omnio::bench::makeWrites(child, omnio::bench::kWholeCalls) ? 0 : 1;
  if (!child.empty()) {
    const omnio::bench::Figures figures = omnio::bench::measureCalls(child, calls, threads);
    omnio::bench::printFigures(figures);
    return figures.empty() ? 1 : 0;
  }
  std::vector<fs::path> folders;
  if (logs.empty()) logs = {data, fs::temp_directory_path().native()};
  for (const std::string& log : logs) folders.push_back(fs::absolute(log));
  return omnio::bench::compare(rounds, calls, library, data, folders);
}
