#include "core/tracefile/stops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "core/base/printable.hpp"
#include "core/wire/info.hpp"

namespace omnio::tracefile {
namespace {

namespace info = wire::info;

std::int64_t nsOf(const Process& process, std::uint64_t ticks) {
  return process.clock == nullptr ? 0 : process.clock->segmentOf(ticks).ns(ticks);
}

// The last moment that the log knows of, in ticks.
std::uint64_t endOf(const Process& process) {
  std::uint64_t end = process.begin.ticks;
  // That of a killed process is the moment it was collected.
  if (process.account && process.account->state != wire::AccountState::kCollected) {
    end = std::max(end, process.account->end.ticks);
  }
  for (const StoredChunk& chunk : process.chunks) end = std::max(end, chunk.header.base_ticks);
  return end;
}

bool readPair(const std::string& text, std::uint64_t& begin, std::uint64_t& end) {
  const char* const last = text.data() + text.size();
  const auto first = std::from_chars(text.data(), last, begin);
  if (first.ec != std::errc() || first.ptr == last || *first.ptr != ' ') return false;
  const auto second = std::from_chars(first.ptr + 1, last, end);
  return second.ec == std::errc() && second.ptr == last && begin <= end;
}

}  // namespace

Stops stopsOf(const Process& process) {
  Stops stops;
  stops.count = process.info.number(info::kStops).value_or(0);
  if (stops.count == 0) return stops;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(stops.count, info::kNamedStops); ++i) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    if (!readPair(process.info.text(fmt::format("{}{}", info::kStopPrefix, i)), begin, end)) {
      continue;
    }
    stops.known.push_back({.begin_ns = nsOf(process, begin), .end_ns = nsOf(process, end)});
  }
  // A sum has no place on the clock, so it is led from the process's begin.
  const std::uint64_t origin = process.begin.ticks;
  const std::uint64_t sum = process.info.number(info::kStoppedTicks).value_or(0);
  stops.total_ns = std::max<std::int64_t>(nsOf(process, origin + sum) - nsOf(process, origin), 0);
  const std::uint64_t since = process.info.number(info::kStoppedSince).value_or(0);
  const std::uint64_t end = endOf(process);
  if (since != 0) {
    const Stop last{.begin_ns = nsOf(process, since),
                    .end_ns = nsOf(process, std::max(since, end))};
    stops.known.push_back(last);
    stops.total_ns += last.end_ns - last.begin_ns;
  }
  return stops;
}

std::string stoppedSentence(const Trace& trace) {
  std::size_t processes = 0;
  std::int64_t longest_ns = 0;
  for (const auto& process : trace.processes()) {
    const Stops stops = stopsOf(*process);
    if (stops.count == 0) continue;
    ++processes;
    longest_ns = std::max(longest_ns, stops.total_ns);
  }
  if (processes == 0) return {};
  const std::size_t all = trace.processes().size();
  return fmt::format(
      "recording was stopped on request in {} of {} process{}, for {}{:.3f} s: what {} did then is "
      "not in the trace, nor where {} left {} files",
      processes, all, all == 1 ? "" : "es", processes == 1 ? "" : "up to ",
      static_cast<double>(longest_ns) / 1e9, processes == 1 ? "it" : "they",
      processes == 1 ? "it" : "they", processes == 1 ? "its" : "their");
}

std::vector<std::string> refusedSettings(const Trace& trace) {
  std::set<std::string> values;
  for (const auto& process : trace.processes()) {
    const std::string& refused = process->info.text(info::kSettingsRefused);
    if (!refused.empty()) values.insert(refused);
  }
  std::vector<std::string> sentences;
  for (const std::string& value : values) {
    sentences.push_back(
        fmt::format("{} means nothing, and the default was taken instead", base::printable(value)));
  }
  return sentences;
}

}  // namespace omnio::tracefile
