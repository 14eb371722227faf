#include "phase_model/io_measure.hpp"

#include <algorithm>
#include <deque>
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
#include "phase_model/files_in_memory.hpp"
#include "phase_model/metadata_runs.hpp"

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

// Counts of a thread.
struct ThreadCounts {
  std::uint64_t step = 0;       // the next one
  std::uint64_t mpi_calls = 0;  // since the last call that is of no data phase
};

}  // namespace

void measureIo(const tracefile::Trace& trace, std::int64_t origin_ns, std::uint64_t longest_gap,
               StepPhases& steps, model::PhaseModel& model) {
  const order::IoWaits waits(trace);
  std::map<int, std::vector<std::size_t>> ranks;
  for (std::size_t i = 0; i < trace.processes().size(); ++i) {
    if (const auto rank = trace.rankOf(*trace.processes()[i])) ranks[*rank].push_back(i);
  }
  std::unordered_map<int, event::IoTime> slowest;
  // By phase and number of the plain call: names are looked up once, at the end.
  std::unordered_map<int, std::unordered_map<std::uint16_t, std::uint64_t>> calls;
  std::vector<RankRun> metadata;
  FileSettings settings;
  const FilesInMemory memory(trace);
  event::PathTable paths;
  const base::ProgressStage stage("measuring the phases", "events", trace.storedEvents());
  for (const auto& [rank, processes] : ranks) {
    struct Source {
      std::size_t process;
      std::uint32_t thread;
      PhasesOfThread* phases;
      const tracefile::IoReader* events;  // there while the last event is of it
    };
    tracefile::MergedReader events;
    std::deque<Source> sources;
    std::map<std::pair<std::size_t, std::uint32_t>, std::unique_ptr<PhasesOfThread>> threads;
    std::map<std::pair<std::size_t, std::uint32_t>, ThreadCounts> counts;
    MetadataRuns others(longest_gap);  // the calls that are of no data phase
    for (const std::size_t place : processes) {
      const tracefile::Process& process = *trace.processes()[place];
      for (const tracefile::Log& log : process.logs) {
        auto& phases = threads[{place, log.thread}];
        if (!phases) phases = std::make_unique<PhasesOfThread>(steps, place, log.thread);
        Source& source = sources.emplace_back(Source{place, log.thread, phases.get(), nullptr});
        events.add(
            [&source, &process, &log, &paths] {
              auto reader = std::make_unique<tracefile::IoReader>(
                  process, log, paths, tracefile::IoChoice{.layer = event::IoLayer::kMpi});
              source.events = reader.get();
              return reader;
            },
            tracefile::MergedReader::beginNs(process));
      }
    }
    event::IoUnion all;
    std::unordered_map<int, event::IoTime> by_phase;
    while (const event::Event* event = events.next()) {
      const Source& source = sources[events.source()];
      const int phase = source.phases->next(*event);
      ThreadCounts& count = counts[{source.process, source.thread}];
      const std::uint64_t step = count.step++;
      count.mpi_calls += source.events->mpiCallsBefore();
      if (!event::isOfStorage(*event) || memory.holds(*event)) continue;
      settings.take(*trace.processes()[source.process], *event, phase);
      const event::IoTime added =
          all.add({.kind = event::ioKindOf(*event->row),
                   .start_ns = event->start_ns,
                   .end_ns = event->end_ns,
                   .waited_ns = waits.waited(source.process, source.thread, *event)});
      if (phase != 0) {
        ++calls[phase][calls::toNumber(event->row->plain)];
        by_phase[phase] += added;
        continue;
      }
      MetadataCall call = metadataCallOf(*event);
      call.process = source.process;
      call.thread = source.thread;
      call.step = step;
      call.mpi_calls_ago = std::exchange(count.mpi_calls, 0);
      call.io = added;
      others.add(std::move(call));
    }
    for (MetadataRun& run : others.finish()) {
      metadata.push_back({.rank = rank, .run = std::move(run)});
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
  std::vector<int> phase_of;
  addMetadataPhases(metadata, origin_ns, model, phase_of);
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    for (const MetadataStretch& stretch : metadata[i].run.stretches) {
      steps.addMetadata(stretch.process, stretch.thread, stretch.first_step, stretch.last_step,
                        phase_of[i]);
    }
  }
  for (model::Phase& phase : model.phases) {
    phase.ranks_per_node = ranksPerNode(phase, hosts);
    if (phase.isMetadata()) continue;
    phase.io = slowest[phase.id];
    phase.opened = settings.of(phase.id);
    for (const auto& [number, count] : calls[phase.id]) {
      phase.calls.emplace_back(calls::rowOf(calls::CallId{number}).name, count);
    }
    std::ranges::sort(phase.calls);
  }
  model.unmatched_waits = waits.unmatched();
}

}  // namespace omnio::phases
