// Whatever is told of clocks: each process gets one, which never runs backwards. A line is a
// process, "MONOTONIC REALTIME|OWN REFERENCE ERROR|...": the anchor of its begin, and points of the
// correction of the clock with the number of the line, from 0.
#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/tracefile/host_clocks.hpp"
#include "core/wire/info.hpp"
#include "tests/core/trace_builder.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace omnio::fuzz {
namespace {

constexpr std::size_t kMostProcesses = 16;

std::unique_ptr<tracefile::Process> processOf(const std::string& line, std::uint64_t number) {
  auto process = std::make_unique<tracefile::Process>();
  process->token = number;
  std::istringstream text(line);
  std::string begin;
  std::getline(text, begin, '|');
  const char* const last = begin.data() + begin.size();
  const auto monotonic = std::from_chars(begin.data(), last, process->begin.monotonic_ns);
  if (monotonic.ptr != last) {
    std::from_chars(monotonic.ptr + 1, last, process->begin.realtime_ns);
  }
  process->begin.ticks = process->begin.monotonic_ns;
  // Every third shares a node with another, and two nodes their name.
  process->info.take(test::factsPayload({{wire::info::kBoot, fmt::format("{}", number / 3)},
                                         {wire::info::kHost, fmt::format("{}", number / 6)}}));
  return process;
}

tracefile::KnownClock knownOf(const std::string& line) {
  std::istringstream text(line);
  std::string part;
  std::getline(text, part, '|');
  std::vector<tracefile::ClockCorrection::Point> points;
  while (std::getline(text, part, '|')) {
    std::istringstream numbers(part);
    tracefile::ClockCorrection::Point point;
    numbers >> point.own_ns >> point.reference_ns >> point.error_ns;
    points.push_back(point);
  }
  return {.correction = tracefile::ClockCorrection(std::move(points))};
}

void requireForwards(const tracefile::NodeClock& clock) {
  std::int64_t before = std::numeric_limits<std::int64_t>::min();
  for (std::uint64_t ticks = 0; ticks < std::uint64_t{1} << 62; ticks += ticks / 8 + 1) {
    const tracefile::NodeClock::Segment segment = clock.segmentOf(ticks);
    require(segment.holds(ticks));
    const std::int64_t now = segment.ns(ticks);
    require(now >= before);
    before = now;
  }
}

}  // namespace

const int kVariations = 200;

std::vector<std::string> seeds() {
  return {
      "1000000000 5000000000\n"
      "2000000000 5100000000|9100000000 1200000000 4000|19100500000 11200000000 3000\n"
      "3000000000 5200000000\n9000000000 5000000000\n9000000000 5000000000\n"
      "8000000000 5000000000\n"
      "77000000000 4000000000|78000000000 9200000000 4000|78000000001 10200000000 4000\n",
      "1 1|1 1 1|1 1 1\n\n\n5 5|5 7 1|6 8 1\n",
  };
}

}  // namespace omnio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omnio;
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
  std::vector<std::unique_ptr<tracefile::Process>> processes;
  tracefile::KnownClocks known;
  for (std::string line; processes.size() < fuzz::kMostProcesses && std::getline(lines, line);) {
    known.emplace_back(fuzz::knownOf(line));
    processes.push_back(fuzz::processOf(line, processes.size() + 1));
  }
  const std::vector<tracefile::HostClock> clocks =
      tracefile::assignClocks(processes, "boot of a test", known);
  fuzz::require(tracefile::clockSentences(clocks).size() <= clocks.size());
  for (const auto& process : processes) {
    fuzz::require(process->clock != nullptr);
    fuzz::requireForwards(*process->clock);
  }
  return 0;
}
