// How many events a second `omnio stats` and `omnio report` read, and what memory they take for it.
//
//   stats_throughput [--check] [--events N]
//   stats_throughput --make DIRECTORY EVENTS RANKS THREADS
//
// Makes traces in a temporary directory and reads each in a process of its own:
//
// - 1,000,000 and 10,000,000 events of one process with four threads. With --check that is all, and
//   it fails when the larger one takes 20 MiB more memory;
// - N events (50,000,000) in 64 logs of 64 ranks, as --by file and --by call, and as a page, and
//   beside it the time to read the same bytes;
// - 4,096 ranks that have 100,000 files in all.
//
// With --make it only makes a trace, for tests: each thread of each rank works on 64 files.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
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
#include "core/wire/container.hpp"
#include "core/wire/definition.hpp"
#include "core/wire/encode.hpp"
#include "core/wire/ring.hpp"
#include "statistics/report.hpp"
#include "tests/core/trace_builder.hpp"

namespace {

namespace fs = std::filesystem;
namespace wire = omnio::wire;
using omnio::calls::CallId;

constexpr std::uint64_t kToken = 0x5741545354415453;

// Each process has so many threads, and each thread so many files.
struct Shape {
  std::uint64_t events = 0;
  std::uint32_t ranks = 1;
  std::uint32_t threads = 4;
  std::uint32_t files = 64;
};

// One thread's log: it writes, reads and seeks in files that it changes every few events.
class LogWriter {
 public:
  LogWriter(std::ofstream& out, const Shape& shape, std::uint32_t rank, std::uint32_t log)
      : out_(out), shape_(shape), rank_(rank), log_(log), ticks_(1000 + log) {
    beginChunk();
  }

  void addEvent() {
    if (at_ + wire::kMaxFixedRecord + wire::kMaxDefinition + 64 > buffer_.data() + buffer_.size()) {
      flush();
      beginChunk();
    }
    const std::uint32_t file = (events_ / 8) % shape_.files;
    const std::uint8_t slot = wire::handleSlot(file + 1);
    if (state_.handles[slot].handle == 0) defineFile(file);
    const wire::EventTimes times{.start = ticks_ + 40 + events_ % 13,
                                 .end = ticks_ + 900 + events_ % 170};
    ticks_ = times.end;
    constexpr std::int64_t kBytes = 4096;
    switch (events_ % 4) {
      case 0:
      case 1:
        at_ = wire::encodeEvent<CallId::write>(at_, state_, times, 0, false, {slot, 0, kBytes},
                                               kBytes, kBytes);
        break;
      case 2:
        at_ = wire::encodeEvent<CallId::pread64>(
            at_, state_, times, 0, false,
            {slot, 0, kBytes, static_cast<std::int64_t>(events_ * 512)}, kBytes, kBytes);
        break;
      default:
        at_ = wire::encodeEvent<CallId::lseek64>(at_, state_, times, 0, false, {slot, 0, 0}, 0, 0);
    }
    ++events_;
    ++header_.event_count;
  }

  void flush() {
    header_.payload_bytes = static_cast<std::uint32_t>(at_ - buffer_.data());
    header_.payload_check = wire::checksum(buffer_.data(), header_.payload_bytes);
    wire::stamp(header_);
    out_.write(reinterpret_cast<const char*>(&header_), sizeof header_);
    constexpr std::array<char, wire::kChunkAlignment> kPadding{};
    out_.write(buffer_.data(), header_.payload_bytes);
    out_.write(kPadding.data(), static_cast<std::streamsize>(wire::aligned(header_.payload_bytes) -
                                                             header_.payload_bytes));
  }

 private:
  void beginChunk() {
    header_ = {.token = kToken + rank_,
               .log = log_,
               .thread = log_,
               .tid = 100 + log_,
               .sequence = sequence_++,
               .first_event = events_,
               .base_ticks = ticks_,
               .base_monotonic_ns = ticks_};
    state_.reset(ticks_);
    at_ = buffer_.data();
  }

  void defineFile(std::uint32_t file) {
    const std::string path = fmt::format("/scratch/run/output.{}.{}.{}.dat", rank_, log_, file);
    const auto text_slot = static_cast<std::uint8_t>(file % wire::kTextSlots);
    at_ = wire::encodeTextHeader(at_, text_slot, 0, path.size());
    std::memcpy(at_, path.data(), path.size());
    at_ += path.size();
    at_ = wire::encodeHandle(at_,
                             {.handle = file + 1,
                              .description = file + 1,
                              .fd = static_cast<std::int32_t>(file + 3),
                              .text_slot = text_slot},
                             state_);
  }

  std::ofstream& out_;
  const Shape& shape_;
  std::uint32_t rank_;
  std::uint32_t log_;
  std::uint32_t sequence_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t ticks_;
  wire::ChunkHeader header_;
  wire::Prediction state_;
  std::vector<char> buffer_ = std::vector<char>(wire::kRingDataBytes - sizeof(wire::ChunkHeader));
  char* at_ = nullptr;
};

void makeTrace(const fs::path& directory, const Shape& shape) {
  fs::create_directory(directory);
  const std::uint64_t each = shape.events / (std::uint64_t{shape.ranks} * shape.threads);
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    std::ofstream out(directory / fmt::format("host.{}.0.omnio", 1 + rank), std::ios::binary);
    std::string block(wire::kContainerHeaderBytes, '\0');
    const std::uint64_t token = kToken + rank;
    wire::ContainerHeader header{
        .token = token, .pid = 1 + rank, .begin = {500, 500, 1'000'000'500}};
    wire::stamp(header);
    wire::Account account{.state = wire::AccountState::kEnded,
                          .events_written = each * shape.threads};
    wire::stamp(account);
    std::memcpy(block.data(), &header, sizeof header);
    std::memcpy(block.data() + wire::kAccountOffset, &account, sizeof account);
    out << block;
    if (shape.ranks > 1) {
      out << omnio::test::infoChunk(
          token, omnio::test::usualFacts(static_cast<int>(rank), static_cast<int>(shape.ranks)));
    }
    std::vector<LogWriter> logs;
    for (std::uint32_t log = 0; log < shape.threads; ++log)
      logs.emplace_back(out, shape, rank, log);
    for (std::uint64_t i = 0; i < each * shape.threads; ++i) logs[i % shape.threads].addEvent();
    for (LogWriter& log : logs) log.flush();
  }
}

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
  makeTrace(trace, shape);
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
  if (argc == 6 && std::string_view(argv[1]) == "--make") {
    const auto number = [](const char* word) {
      return static_cast<std::uint32_t>(std::strtoul(word, nullptr, 10));
    };
    makeTrace(argv[2], {.events = std::strtoull(argv[3], nullptr, 10),
                        .ranks = number(argv[4]),
                        .threads = number(argv[5])});
    return 0;
  }
  const bool check = argc == 2 && std::string_view(argv[1]) == "--check";
  const bool has_events = argc == 3 && std::string_view(argv[1]) == "--events";
  if (argc > 1 && !check && !has_events) {
    fmt::print(stderr,
               "usage: stats_throughput [--check] [--events N]\n"
               "       stats_throughput --make DIRECTORY EVENTS RANKS THREADS\n");
    return 2;
  }
  return compare(check, has_events ? std::strtoull(argv[2], nullptr, 10) : 50'000'000);
}
