// How many events a second `omnio stats` and `omnio report` read, and what memory they take for it.
//
//   stats_throughput [--check] [--events N]
//
// Makes traces in a temporary directory and reads each in a process of its own:
//
// - 1,000,000 and 10,000,000 events of one process with four threads. With --check that is all, and
//   it fails when the larger one takes 20 MiB more memory;
// - N events (50,000,000) in 64 logs of 64 ranks, as --by file and --by call, and as a page, and
//   beside it the time to read the same bytes;
// - 4,096 ranks that have 100,000 files in all.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure.hpp"
#include "core/tracefile/trace.hpp"
#include "statistics/report.hpp"
#include "tests/support/regular_trace.hpp"

namespace {

namespace fs = std::filesystem;
using omnio::test::makeRegularTrace;
using Shape = omnio::test::RegularShape;

std::uint64_t peakKib() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

// In a process of its own, which prints what it took.
int readTrace(const char* directory, omnio::stats::By by) {
  const auto begin = std::chrono::steady_clock::now();
  const auto trace = omnio::tracefile::Trace::open(directory);
  if (!trace) {
    fmt::print(stderr, "{}\n", trace.failure().sentence);
    return 1;
  }
  const auto report = omnio::stats::makeReport(*trace, by);
  std::string text;
  omnio::stats::appendJson(text, *report, [&text] { text.clear(); });
  const auto time = std::chrono::steady_clock::now() - begin;
  if (!report->wholeness.whole) {
    fmt::print(stderr, "the trace was not read as it was made\n");
    return 1;
  }
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  omnio::bench::printFigures({{"events", static_cast<double>(report->total.events())},
                              {"groups", static_cast<double>(report->groups.size())},
                              {"nanoseconds", static_cast<double>(ns)},
                              {"peak_kib", static_cast<double>(peakKib())}});
  return 0;
}

// The seconds that it takes to read all bytes of the trace, and do nothing with them.
double readBytes(const fs::path& trace) {
  std::vector<char> buffer(std::size_t{1} << 20);
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& entry : fs::directory_iterator(trace)) {
    std::ifstream in(entry.path(), std::ios::binary);
    while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0) {
    }
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// `omnio report` of the trace, as users start it; and how large its page is.
std::optional<omnio::bench::Figures> makePage(const fs::path& trace, std::uint64_t events) {
  const fs::path page = trace.parent_path() / "page.html";
  const auto run = omnio::bench::runChild(
      {OMNIO_BENCH_PROGRAM, "report", trace.native(), "-o", page.native()}, {}, {});
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(page, error);
  constexpr std::uintmax_t kMost = 2 << 20;
  if (!run || error || bytes > kMost) return {};
  return omnio::bench::Figures{{"events", static_cast<double>(events)},
                               {"groups", 0},
                               {"nanoseconds", run->wall_ns},
                               {"peak_kib", run->peak_kib}};
}

// Each of its own reads; the most memory of them in KiB, or nothing when one failed.
std::optional<double> measure(const fs::path& directory, const Shape& shape,
                              const std::vector<std::string>& kinds) {
  const fs::path trace = directory / "trace";
  makeRegularTrace(trace, shape);
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(trace)) bytes += entry.file_size();
  double most_kib = 0;
  for (const std::string& by : kinds) {
    const double bytes_s = readBytes(trace);
    omnio::bench::Figures r;
    if (by == "page") {
      r = makePage(trace, shape.events).value_or(r);
    } else if (const auto run = omnio::bench::runChild(
                   {"/proc/self/exe", "--read", trace.native(), by}, {}, {})) {
      r = run->figures;
    }
    const auto wanted = static_cast<double>(shape.ranks) * shape.threads * shape.files;
    if (r.size() != 4 || r.at("events") != static_cast<double>(shape.events) ||
        (by == "file" && r.at("groups") != wanted) || r.at("peak_kib") == 0) {
      fmt::print(stderr, "reading {} events failed\n", shape.events);
      return {};
    }
    fmt::print("{:>6} {:>12} {:>5} {:>8.2f} {:>12.0f} {:>14.2f} {:>10.0f}\n", shape.ranks,
               shape.events, by, static_cast<double>(bytes) / static_cast<double>(shape.events),
               static_cast<double>(shape.events) * 1e9 / r.at("nanoseconds"),
               r.at("nanoseconds") / 1e9 / bytes_s, r.at("peak_kib"));
    most_kib = std::max(most_kib, r.at("peak_kib"));
  }
  fs::remove_all(trace);
  return most_kib;
}

int compare(bool check, std::uint64_t events) {
  std::string name = (fs::temp_directory_path() / "omnio-bench-XXXXXX").native();
  if (mkdtemp(name.data()) == nullptr) {
    fmt::print(stderr, "{}: {}\n", name, std::strerror(errno));
    return 1;
  }
  const fs::path directory = name;
  fmt::print("{:>6} {:>12} {:>5} {:>8} {:>12} {:>14} {:>10}\n", "ranks", "events", "by", "B/event",
             "events/s", "to plain read", "peak KiB");
  const auto few = measure(directory, {.events = 1'000'000}, {"file"});
  const auto many = few ? measure(directory, {.events = 10'000'000}, {"file"}) : std::nullopt;
  bool good = many.has_value();
  if (good && !check) {
    const std::uint64_t rounded = events / 64 * 64;
    constexpr std::uint32_t kManyRanks = 4096;
    constexpr std::uint32_t kFilesEach = 25;  // 102,400 in all
    good =
        measure(directory, {.events = rounded, .ranks = 64, .threads = 1},
                {"file", "call", "page"}) &&
        measure(
            directory,
            {.events = kManyRanks * 2000, .ranks = kManyRanks, .threads = 1, .files = kFilesEach},
            {"file", "page"});
  }
  fs::remove_all(directory);
  if (!good) return 1;
  const auto more = static_cast<std::int64_t>(*many - *few);
  constexpr std::int64_t kAllowedKib = 20 * 1024;
  fmt::print("ten times the events take {} KiB more memory (allowed: less than {})\n", more,
             kAllowedKib);
  return check && more >= kAllowedKib ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--read") {
    return readTrace(argv[2], omnio::stats::byName(argv[3]).value_or(omnio::stats::By::kFile));
  }
  const bool check = argc == 2 && std::string_view(argv[1]) == "--check";
  const bool has_events = argc == 3 && std::string_view(argv[1]) == "--events";
  if (argc > 1 && !check && !has_events) {
    fmt::print(stderr, "usage: stats_throughput [--check] [--events N]\n");
    return 2;
  }
  return compare(check, has_events ? std::strtoull(argv[2], nullptr, 10) : 50'000'000);
}
