#include "phase_model/io_measure.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/progress.hpp"
#include "core/order/io_waits.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/merged_reader.hpp"
#include "core/wire/info.hpp"
#include "phase_model/file_settings.hpp"

namespace omnio::phases {
namespace {

// Ranks of the phase on the node that has most of them.
int ranksPerNode(const model::Phase& phase, const std::map<int, std::string>& hosts) {
  std::map<std::string_view, int> on_node;
  int most = 0;
  for (const int rank : phase.ranks) {
    const auto host = hosts.find(rank);
    if (host != hosts.end()) most = std::max(most, ++on_node[host->second]);
  }
  return most;
}

void takeSlower(const event::IoTime& time, event::IoTime& slowest) {
  if (time.total() > slowest.total()) slowest = time;
}

}  // namespace

void measureIo(const tracefile::Trace& trace, const StepPhases& steps, model::PhaseModel& model) {
  const order::IoWaits waits(trace);
  std::map<int, std::vector<std::size_t>> ranks;
  for (std::size_t i = 0; i < trace.processes().size(); ++i) {
    if (const auto rank = trace.rankOf(*trace.processes()[i])) ranks[*rank].push_back(i);
  }
  std::unordered_map<int, event::IoTime> slowest;
  // By phase and number of the plain call: names are looked up once, at the end.
  std::unordered_map<int, std::unordered_map<std::uint16_t, std::uint64_t>> calls;
  FileSettings settings;
  event::PathTable paths;
  const base::ProgressStage stage("measuring the phases", "events", trace.storedEvents());
  for (const auto& [rank, processes] : ranks) {
    struct Source {
      std::size_t process;
      std::uint32_t thread;
      PhasesOfThread* phases;
    };
    tracefile::MergedReader events;
    std::vector<Source> sources;
    std::map<std::pair<std::size_t, std::uint32_t>, std::unique_ptr<PhasesOfThread>> threads;
    for (const std::size_t place : processes) {
      const tracefile::Process& process = *trace.processes()[place];
      for (const tracefile::Log& log : process.logs) {
        auto& phases = threads[{place, log.thread}];
        if (!phases) phases = std::make_unique<PhasesOfThread>(steps, place, log.thread);
        sources.push_back({place, log.thread, phases.get()});
        events.addLog<tracefile::IoReader>(process, log, paths,
                                           tracefile::IoChoice{.layer = event::IoLayer::kMpi});
      }
    }
    event::IoUnion all;
    std::unordered_map<int, event::IoTime> by_phase;
    while (const event::Event* event = events.next()) {
      const Source& source = sources[events.source()];
      const int phase = source.phases->next(*event);
      if (!event::isOfStorage(*event)) continue;
      ++calls[phase][calls::toNumber(event->row->plain)];
      settings.take(*trace.processes()[source.process], *event, phase);
      by_phase[phase] +=
          all.add({.kind = event::ioKindOf(*event->row),
                   .start_ns = event->start_ns,
                   .end_ns = event->end_ns,
                   .waited_ns = waits.waited(source.process, source.thread, *event)});
    }
    if (all.total().total() > model.io.total()) {
      model.io = all.total();
      model.slowest_rank = rank;
    }
    for (const auto& [phase, time] : by_phase) takeSlower(time, slowest[phase]);
  }
  std::map<int, std::string> hosts;
  for (const auto& [rank, processes] : ranks) {
    hosts[rank] = trace.processes()[processes.front()]->info.text(wire::info::kHost);
  }
  for (model::Phase& phase : model.phases) {
    phase.io = slowest[phase.id];
    phase.opened = settings.of(phase.id);
    phase.ranks_per_node = ranksPerNode(phase, hosts);
    for (const auto& [number, count] : calls[phase.id]) {
      phase.calls.emplace_back(calls::rowOf(calls::CallId{number}).name, count);
    }
    std::ranges::sort(phase.calls);
  }
  model.io_outside = slowest[0];
  model.unmatched_waits = waits.unmatched();
}

}  // namespace omnio::phases
