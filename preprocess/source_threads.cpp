#include "preprocess/source_threads.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/tracefile/log_reader.hpp"
#include "core/wire/info.hpp"

namespace omnio::preprocess {

std::unique_ptr<event::EventSource> SourceThread::open(event::PathTable& paths) const {
  auto merged = std::make_unique<tracefile::MergedReader>();
  for (const tracefile::Log* lane : lanes)
    merged->add(std::make_unique<tracefile::PosixReader>(*process, *lane, paths));
  return merged;
}

namespace {

// What lies between the end of one event and the beginning of the next.
std::int64_t recorderNs(const tracefile::ProcessInfo& info) {
  return std::llround(std::max(0.0, info.eventCostNs() - info.clockCostNs()));
}

}  // namespace

SourceThreads sourceThreads(const tracefile::Trace& trace) {
  SourceThreads result;
  std::map<int, int> threads_of_rank;
  for (std::size_t i = 0; i < trace.processes().size(); ++i) {
    const tracefile::Process& process = *trace.processes()[i];
    const std::optional<int> rank = trace.rankOf(process);
    if (!rank) {
      ++result.processes_without_rank;
      continue;
    }
    result.ranks = std::max({result.ranks, *rank + 1, process.info.ranks()});
    std::map<std::uint32_t, std::vector<const tracefile::Log*>> threads;
    for (const tracefile::Log& log : process.logs) threads[log.thread].push_back(&log);
    for (auto& [number, lanes] : threads) {
      result.threads.push_back({.header = {.rank = *rank,
                                           .thread = threads_of_rank[*rank]++,
                                           .pid = process.pid,
                                           .tid = lanes.front()->tid,
                                           .host = process.info.text(wire::info::kHost),
                                           .recorder_ns = recorderNs(process.info)},
                                .process = &process,
                                .process_index = i,
                                .lanes = std::move(lanes)});
    }
  }
  std::stable_sort(
      result.threads.begin(), result.threads.end(),
      [](const SourceThread& a, const SourceThread& b) { return a.header.rank < b.header.rank; });
  return result;
}

}  // namespace omnio::preprocess
