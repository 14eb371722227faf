#include "preprocess/order/shared_pointers.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/mpi/shared_offsets.hpp"

namespace omnio::preprocess {
namespace {

using calls::Role;

struct Access {
  std::int64_t etypes = 0;  // where it begins, in the view
  EventRef step;
};

class SharedPointers {
 public:
  SharedPointers(const mpi::MpiSharedOffsets& places, const MpiTables& tables)
      : places_(places), tables_(tables) {}

  void take(const SourceThread& source, const event::Event& event, EventRef step) {
    if (event.row->api != calls::Api::kMpi || event.handle == nullptr || event.failed) return;
    const calls::Row& row = *event.row;
    const std::uint32_t handle = event.handle->definition.handle;
    const auto group = tables_.sharersOf(source.process_index, handle);
    if (!group) return;
    std::uint32_t& stretch = stretches_[{source.process_index, handle}];
    const bool is_shared = calls::does(row, calls::Effect::kSharedPointer);
    if (calls::has(row, Role::kFiletype) || (is_shared && row.call_class == calls::Class::kSeek)) {
      ++stretch;
    }
    if (!is_shared || row.sync == calls::Sync::kAll || !event::transfersData(event)) return;
    const auto tick = static_cast<std::uint64_t>(event::argumentOf(event, Role::kTick));
    const mpi::MpiSharedPlace* const place = places_.find(*source.process, tick);
    if (place == nullptr || !place->etypes) return;
    accesses_[{*group, stretch}].push_back({*place->etypes, step});
  }

  void order(Dependencies& dependencies) {
    for (auto& [stretch, accesses] : accesses_) {
      std::ranges::stable_sort(accesses, {}, &Access::etypes);
      for (std::size_t i = 1; i < accesses.size(); ++i) {
        const EventRef earlier = accesses[i - 1].step;
        const EventRef later = accesses[i].step;
        if (earlier.thread == later.thread) continue;
        dependencies.requireId(later, dependencies.nameOf(earlier));
      }
    }
  }

 private:
  const mpi::MpiSharedOffsets& places_;
  const MpiTables& tables_;
  // Between an open, a view or a seek of the pointer and the next of these, all of which are
  // collective, the pointer only moves on: the number of this stretch, by process and handle.
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> stretches_;
  // By the group that shares the file, which no other open has, and the stretch.
  std::map<std::pair<mpi::GroupIndex, std::uint32_t>, std::vector<Access>> accesses_;
};

}  // namespace

void orderSharedPointers(const tracefile::Trace& trace, const SourceThreads& sources,
                         const MpiTables& tables, event::PathTable& paths,
                         Dependencies& dependencies) {
  std::vector<const tracefile::Process*> processes;
  bool are_used = false;
  for (const auto& process : trace.processes()) {
    processes.push_back(process.get());
    are_used = are_used || mpi::usesSharedPointers(process->info);
  }
  if (!are_used) return;
  const mpi::MpiSharedOffsets places(processes);
  SharedPointers pointers(places, tables);
  for (std::uint32_t thread = 0; thread < sources.threads.size(); ++thread) {
    const SourceThread& source = sources.threads[thread];
    const auto events = source.open(paths, {.layer = event::IoLayer::kMpi});
    for (std::uint64_t sequence = 0; const event::Event* event = events->next(); ++sequence) {
      pointers.take(source, *event, {.thread = thread, .sequence = sequence});
    }
  }
  pointers.order(dependencies);
}

}  // namespace omnio::preprocess
