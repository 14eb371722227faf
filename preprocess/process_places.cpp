#include "preprocess/process_places.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace omnio::preprocess {
namespace {

// When the process ended or became another program, as far as it could say so itself.
std::int64_t endOf(const tracefile::Process& process) {
  if (!process.account || process.clock == nullptr) return 0;
  const wire::Account& account = *process.account;
  if (account.state == wire::AccountState::kRunning ||
      account.state == wire::AccountState::kCollected || account.end.ticks == 0) {
    return 0;
  }
  return process.clock->segmentOf(account.end.ticks).ns(account.end.ticks);
}

}  // namespace

ProcessPlaces processPlaces(const order::ProcessTree& tree, const tracefile::Trace& trace,
                            const SourceThreads& sources) {
  ProcessPlaces result;
  result.places.resize(sources.threads.size());
  std::map<std::size_t, std::vector<std::uint32_t>> threads;  // by index in Trace::processes()
  for (std::uint32_t place = 0; place < sources.threads.size(); ++place) {
    threads[sources.threads[place].process_index].push_back(place);
  }
  const auto make = [&result] {
    result.places.emplace_back();
    return static_cast<std::uint32_t>(result.places.size() - 1);
  };
  // By process, program and id of the thread.
  std::map<std::tuple<std::size_t, std::size_t, std::uint32_t>, std::uint32_t> by_thread;
  std::unordered_set<std::uint32_t> created;  // places of threads that another one created
  for (std::size_t index = 0; index < tree.processes.size(); ++index) {
    const order::TreeProcess& process = tree.processes[index];
    ProcessPlaces::Process ends;
    if (process.thread) {
      const auto [owner, program, tid] = *process.thread;
      const auto own = by_thread.find({owner, program, tid});
      const std::uint32_t place = own != by_thread.end() ? own->second : make();
      created.insert(place);
      result.places[place].before.clear();
      result.places[place].is_started = true;
      ends.first = ends.last = {place};
      result.processes.push_back(std::move(ends));
      continue;
    }
    for (const order::ProgramRun& program : process.programs) {
      std::vector<std::uint32_t> here;
      if (const auto own = threads.find(program.log); own != threads.end()) here = own->second;
      std::vector<std::uint32_t> all = here;
      std::uint32_t main = 0;
      bool has_main = false;
      const auto takeMain = [&](std::uint32_t place, std::uint32_t tid) {
        if (tid != process.pid) return;
        main = place;
        has_main = true;
      };
      for (const std::uint32_t place : here) takeMain(place, sources.threads[place].header.tid);
      std::unordered_map<std::uint32_t, std::uint32_t> by_tid;
      for (const std::uint32_t place : here) {
        by_tid.try_emplace(sources.threads[place].header.tid, place);
      }
      for (const order::ProcessLane& lane : program.lanes) {
        const auto found = by_tid.find(lane.tid);
        const std::uint32_t place = found != by_tid.end() ? found->second : make();
        if (found == by_tid.end()) all.push_back(place);
        takeMain(place, lane.tid);
        const auto number = static_cast<std::size_t>(&program - process.programs.data());
        by_thread[{index, number, lane.tid}] = place;
        auto& steps = result.places[place].steps;
        steps.insert(steps.end(), lane.steps.begin(), lane.steps.end());
      }
      if (all.empty()) all.push_back(make());
      if (has_main) std::swap(all.front(), *std::find(all.begin(), all.end(), main));
      for (const std::uint32_t place : all) {
        ProcessPlaces::Place& at = result.places[place];
        if (ends.first.empty()) {
          at.is_started = process.is_started;
        } else {
          at.before = ends.last;
          at.begin_ns = program.begin_ns;
        }
      }
      if (ends.first.empty()) ends.first = all;
      ends.last = std::move(all);
      if (program.log != order::ProgramRun::kNoLog) {
        ends.end_ns = endOf(*trace.processes()[program.log]);
      }
    }
    if (process.programs.empty()) {
      ends.first = ends.last = {make()};
      result.places.back().is_started = process.is_started;
    }
    result.processes.push_back(std::move(ends));
  }
  for (std::size_t index = 0; index < tree.processes.size(); ++index) {
    if (tree.processes[index].thread) continue;
    std::erase_if(result.processes[index].first,
                  [&](std::uint32_t place) { return created.contains(place); });
  }
  return result;
}

}  // namespace omnio::preprocess
