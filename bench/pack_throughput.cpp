// Measures the cost of packing a trace, and of reading it packed. Unpacked and packed in turn in
// one run, medians, as ratios; the machine's speed does not matter.
//
//   pack_throughput TRACE [ROUNDS [LEVEL]]      TRACE stays as it is
#include <fmt/format.h>
#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "core/tracefile/pack_trace.hpp"
#include "core/tracefile/trace.hpp"
#include "statistics/report.hpp"

namespace {

namespace fs = std::filesystem;
using omnio::bench::cpuNs;
using omnio::bench::median;

template <typename Work>
double cpuNsOf(const Work& work) {
  const double begin = cpuNs(CLOCK_PROCESS_CPUTIME_ID);
  work();
  return cpuNs(CLOCK_PROCESS_CPUTIME_ID) - begin;
}

[[noreturn]] void fail(const std::string& sentence) {
  fmt::print(stderr, "pack_throughput: {}\n", sentence);
  std::exit(1);
}

std::string read(const fs::path& directory) {
  const auto trace = omnio::tracefile::Trace::open(directory);
  if (!trace) fail(trace.failure().sentence);
  const auto report = omnio::stats::makeReport(*trace, omnio::stats::By::kFile);
  if (!report) fail(report.failure().sentence);
  std::string text = omnio::stats::jsonOf(*report);
  // The only thing that may differ.
  for (std::size_t at; (at = text.find(directory.native())) != std::string::npos;) {
    text.erase(at, directory.native().size());
  }
  return text;
}

omnio::tracefile::PackReport pack(const fs::path& trace, int level) {
  const auto report = omnio::tracefile::packTrace(trace, {.level = level, .assume_ended = true});
  if (!report) fail(report.failure().sentence);
  if (!report->troubles.empty()) fail(report->troubles.front());
  return *report;
}

int measure(const fs::path& trace, int rounds, int level) {
  std::string name = (fs::temp_directory_path() / "omnio-bench-XXXXXX").native();
  if (mkdtemp(name.data()) == nullptr) fail("cannot make a directory for the packed trace");
  const fs::path packed = fs::path(name) / "packed";
  std::vector<double> packing;
  std::vector<double> reading;
  std::vector<double> reading_packed;
  omnio::tracefile::PackReport report;
  for (int round = 0; round < rounds; ++round) {
    fs::remove_all(packed);
    fs::copy(trace, packed, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    packing.push_back(cpuNsOf([&] { report = pack(packed, level); }));
    std::string as_recorded;
    std::string as_packed;
    reading.push_back(cpuNsOf([&] { as_recorded = read(trace); }));
    reading_packed.push_back(cpuNsOf([&] { as_packed = read(packed); }));
    if (as_recorded != as_packed) fail("the packed trace is read differently");
  }
  fs::remove_all(name);
  if (report.events == 0) fail("the trace holds no event that is not packed");
  const auto events = static_cast<double>(report.events);
  const auto line = [&](const char* what, const std::vector<double>& costs) {
    const double ns = median(costs) / events;
    fmt::print("{:<24} {:>8.1f} ns of CPU time an event {:>8.2f} times reading it\n", what, ns,
               median(costs) / median(reading));
  };
  fmt::print("{} events, {:.2f} bytes each as recorded, {:.2f} packed at level {}; medians of {}\n",
             report.events, static_cast<double>(report.bytes_before) / events,
             static_cast<double>(report.bytes_after) / events, level, rounds);
  line("statistics", reading);
  line("statistics, packed", reading_packed);
  line("packing and checking", packing);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  const int level = argc > 3 ? std::atoi(argv[3]) : omnio::tracefile::kDefaultPackLevel;
  if (argc < 2 || rounds < 1 || level < 1) {
    fmt::print(stderr, "usage: pack_throughput TRACE [ROUNDS [LEVEL]]\n");
    return 2;
  }
  return measure(argv[1], rounds, level);
}
