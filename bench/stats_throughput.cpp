// How many events a second `omnio stats` reads, and what memory it takes for it.
//
//   stats_throughput [--check]
//
// Makes traces of 1,000,000 and 10,000,000 events in a temporary directory, reads each in a process
// of its own, and prints both. With --check it fails when the larger one takes 20 MiB more memory.
#include <fmt/format.h>
#include <stdlib.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
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

namespace {

namespace fs = std::filesystem;
namespace wire = omnio::wire;
using omnio::calls::CallId;

constexpr std::uint64_t kToken = 0x5741545354415453;
constexpr std::uint32_t kFiles = 64;
constexpr std::uint32_t kThreads = 4;

// One thread's log: it writes, reads and seeks in files that it changes every few events.
class LogWriter {
 public:
  LogWriter(std::ofstream& out, std::uint32_t log) : out_(out), log_(log), ticks_(1000 + log) {
    beginChunk();
  }

  void addEvent() {
    if (at_ + wire::kMaxFixedRecord + wire::kMaxDefinition + 64 > buffer_.data() + buffer_.size()) {
      flush();
      beginChunk();
    }
    const std::uint32_t file = (events_ / 8) % kFiles;
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
    header_ = {.token = kToken,
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
    const std::string path = fmt::format("/scratch/run/output.{}.{}.dat", log_, file);
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
  std::uint32_t log_;
  std::uint32_t sequence_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t ticks_;
  wire::ChunkHeader header_;
  wire::Prediction state_;
  std::vector<char> buffer_ = std::vector<char>(wire::kRingDataBytes - sizeof(wire::ChunkHeader));
  char* at_ = nullptr;
};

void makeTrace(const fs::path& directory, std::uint64_t events) {
  fs::create_directory(directory);
  std::ofstream out(directory / "host.1.0.omnio", std::ios::binary);
  std::string block(wire::kContainerHeaderBytes, '\0');
  wire::ContainerHeader header{.token = kToken, .pid = 1, .begin = {500, 500, 1'000'000'500}};
  wire::stamp(header);
  wire::Account account{.state = wire::AccountState::kEnded, .events_written = events};
  wire::stamp(account);
  std::memcpy(block.data(), &header, sizeof header);
  std::memcpy(block.data() + wire::kAccountOffset, &account, sizeof account);
  out << block;
  std::vector<LogWriter> logs;
  for (std::uint32_t log = 0; log < kThreads; ++log) logs.emplace_back(out, log);
  for (std::uint64_t i = 0; i < events; ++i) logs[i % kThreads].addEvent();
  for (LogWriter& log : logs) log.flush();
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
int readTrace(const char* directory) {
  const auto begin = std::chrono::steady_clock::now();
  const auto trace = omnio::tracefile::Trace::open(directory);
  if (!trace) {
    fmt::print(stderr, "{}\n", trace.failure().sentence);
    return 1;
  }
  const auto report = omnio::stats::makeReport(*trace, omnio::stats::By::kFile);
  const auto text = omnio::stats::jsonOf(*report);
  const auto time = std::chrono::steady_clock::now() - begin;
  if (!report->wholeness.whole || report->groups.size() != kThreads * kFiles) {
    fmt::print(stderr, "the trace was not read as it was made: {}\n", text);
    return 1;
  }
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  omnio::bench::printFigures({{"events", static_cast<double>(report->wholeness.events)},
                              {"nanoseconds", static_cast<double>(ns)},
                              {"peak_kib", static_cast<double>(peakKib())}});
  return 0;
}

int compare(bool check) {
  std::string name = (fs::temp_directory_path() / "omnio-bench-XXXXXX").native();
  if (mkdtemp(name.data()) == nullptr) {
    fmt::print(stderr, "{}: {}\n", name, std::strerror(errno));
    return 1;
  }
  const fs::path directory = name;
  std::vector<double> peaks_kib;
  fmt::print("{:>12} {:>10} {:>14} {:>12}\n", "events", "B/event", "events/s", "peak KiB");
  for (const std::uint64_t events : {1'000'000U, 10'000'000U}) {
    const fs::path trace = directory / fmt::format("{}", events);
    makeTrace(trace, events);
    const auto bytes = static_cast<double>(fs::file_size(trace / "host.1.0.omnio"));
    const auto run = omnio::bench::runChild({"/proc/self/exe", "--read", trace.native()}, {}, {});
    fs::remove_all(trace);
    const omnio::bench::Figures r = run ? run->figures : omnio::bench::Figures{};
    if (r.size() != 3 || r.at("events") != static_cast<double>(events) || r.at("peak_kib") == 0) {
      fmt::print(stderr, "reading {} events failed\n", events);
      fs::remove_all(directory);
      return 1;
    }
    fmt::print("{:>12} {:>10.2f} {:>14.0f} {:>12.0f}\n", events,
               bytes / static_cast<double>(events),
               static_cast<double>(events) * 1e9 / r.at("nanoseconds"), r.at("peak_kib"));
    peaks_kib.push_back(r.at("peak_kib"));
  }
  fs::remove_all(directory);
  const auto more = static_cast<std::int64_t>(peaks_kib[1] - peaks_kib[0]);
  constexpr std::int64_t kAllowedKib = 20 * 1024;
  fmt::print("ten times the events take {} KiB more memory (allowed: less than {})\n", more,
             kAllowedKib);
  return check && more >= kAllowedKib ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--read") return readTrace(argv[2]);
  const bool check = argc == 2 && std::string_view(argv[1]) == "--check";
  if (argc > 1 && !check) {
    fmt::print(stderr, "usage: stats_throughput [--check]\n");
    return 2;
  }
  return compare(check);
}
