#include "phase_model/model_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/tracefile/completeness.hpp"
#include "phase_model/access_reader.hpp"
#include "phase_model/file_family.hpp"
#include "phase_model/files_in_memory.hpp"
#include "phase_model/grouping.hpp"
#include "phase_model/io_measure.hpp"

namespace omnio::phases {
namespace {

// Adds a note on what processes of no rank (the launcher, a shell around the ranks) read and wrote.
void addProcessesWithoutRank(const std::vector<const tracefile::Process*>& processes,
                             const mpi::MpiSharedOffsets& shared, event::PathTable& paths,
                             tracefile::FileNames& names, std::vector<std::string>& left_out) {
  std::uint64_t accesses = 0;
  std::uint64_t bytes = 0;
  Doubts doubts;
  readAccesses(processes, -1, shared, paths, names, doubts, [&](const Access& access) {
    ++accesses;
    bytes += access.bytes;
  });
  if (accesses == 0) return;
  left_out.push_back(
      fmt::format("{} accesses of {} bytes by processes that are of no rank", accesses, bytes));
}

void addWholeness(const tracefile::Trace& trace, std::uint64_t undecodable,
                  model::PhaseModel& model) {
  tracefile::Wholeness wholeness = tracefile::assess(trace);
  tracefile::addUndecodable(wholeness, undecodable);
  model.source_whole = wholeness.whole;
  if (wholeness.whole) return;
  model.left_out.push_back(
      fmt::format("the trace is not whole; {}", tracefile::missingSentence(wholeness)));
  for (std::string& reason : tracefile::reasonsInBrief(wholeness)) {
    model.left_out.push_back(std::move(reason));
  }
}

}  // namespace

void ModelBuilder::beginRank(int rank) { rank_.emplace(rank, options_.longest_gap); }

void ModelBuilder::add(const Access& access) { rank_->add(access); }

void ModelBuilder::endRank(const Threads& threads) {
  threads_[rank_->rank()] = threads;
  for (Lap& lap : rank_->finish()) laps_.push_back(std::move(lap));
  overflowed_.insert(overflowed_.end(), rank_->overflowed().begin(), rank_->overflowed().end());
  rank_.reset();
}

void ModelBuilder::finish(const event::PathTable& paths, const std::vector<event::FileId>& standing,
                          std::int64_t origin_ns, model::PhaseModel& model, StepPhases* steps) {
  // Files in the order in which the application came to them.
  std::stable_sort(laps_.begin(), laps_.end(), [](const Lap& a, const Lap& b) {
    return a.operations.front().begin_ns < b.operations.front().begin_ns;
  });
  std::map<event::FileId, std::size_t> index;
  std::vector<TouchedFile> touched;
  std::vector<std::size_t> touched_by_lap;
  for (const Lap& lap : laps_) {
    const auto number = static_cast<std::size_t>(lap.file);
    const event::FileId file_id = number < standing.size() ? standing[number] : lap.file;
    const auto [place, is_new] = index.try_emplace(file_id, touched.size());
    if (is_new) touched.push_back({.path = base::printable(paths.path(file_id)), .ranks = {}});
    TouchedFile& file = touched[place->second];
    file.ranks.insert(lap.rank);
    for (const Pattern& pattern : lap.operations) {
      const auto end = static_cast<std::uint64_t>(std::max<std::int64_t>(pattern.furthest, 0));
      file.size_bytes = std::max(file.size_bytes, end);
    }
    touched_by_lap.push_back(place->second);
  }
  Families families = findFamilies(touched);
  model.files = std::move(families.files);

  std::vector<int> file_of;
  for (const std::size_t file : touched_by_lap) {
    file_of.push_back(static_cast<int>(families.family[file]));
  }
  std::vector<int> phase_of;
  model.phases = groupIntoPhases(laps_, file_of, origin_ns, phase_of);
  for (std::size_t i = 0; steps != nullptr && i < laps_.size(); ++i) {
    const Threads& threads = threads_[laps_[i].rank];
    if (laps_[i].source >= threads.size()) continue;
    const auto& [process, thread] = threads[laps_[i].source];
    std::uint64_t first = laps_[i].operations.front().first_step;
    std::uint64_t last = first;
    std::vector<model::Operation> operations;
    for (const Pattern& pattern : laps_[i].operations) {
      first = std::min(first, pattern.first_step);
      last = std::max(last, pattern.last_step);
      operations.push_back(pattern.operation);
    }
    steps->add(process, thread, paths.path(laps_[i].file), operations, first, last, phase_of[i]);
  }
  const std::set<event::FileId> overflowed(overflowed_.begin(), overflowed_.end());
  for (const event::FileId file : overflowed) {
    model.left_out.push_back(fmt::format(
        "the order of the accesses of {}: a process has more than {} patterns on it, which are "
        "given as random accesses",
        base::printable(paths.path(file)), kMaxLaps));
  }
}

base::Result<MadeModel> makePhaseModel(const tracefile::Trace& trace, const Options& options) {
  MadeModel made;
  model::PhaseModel& model = made.model;
  model.source = base::printable(trace.directory().native());
  std::map<int, std::vector<const tracefile::Process*>> ranks;
  std::vector<const tracefile::Process*> without_rank;
  for (const auto& process : trace.processes()) {
    model.processes = std::max(model.processes, process->info.ranks());
    if (const auto rank = trace.rankOf(*process)) {
      ranks[*rank].push_back(process.get());
    } else {
      without_rank.push_back(process.get());
    }
  }
  if (!ranks.empty()) {
    model.processes = std::max(model.processes, ranks.rbegin()->first + 1);
    for (const std::string& word : ranks.begin()->second.front()->info.command()) {
      model.command.push_back(base::printable(word));
    }
  }

  std::vector<const tracefile::Process*> all = without_rank;
  for (const auto& [rank, processes] : ranks) {
    all.insert(all.end(), processes.begin(), processes.end());
  }
  const mpi::MpiSharedOffsets shared(all);
  event::PathTable paths;
  tracefile::FileNames names(paths);
  Doubts doubts;
  ModelBuilder builder(options);
  std::uint64_t undecodable = 0;
  std::optional<std::int64_t> origin_ns;
  const FilesInMemory memory(trace);
  std::uint64_t bytes_in_memory = 0;
  const base::ProgressStage stage("finding the phases", "events", trace.storedEvents());
  for (const auto& [rank, processes] : ranks) {
    builder.beginRank(rank);
    const ReadRank read =
        readAccesses(processes, rank, shared, paths, names, doubts, [&](const Access& access) {
          if (memory.holds(paths.path(access.file))) {
            bytes_in_memory += access.bytes;
          } else {
            builder.add(access);
          }
        });
    ModelBuilder::Threads threads = read.threads;
    for (auto& [process, thread] : threads) {
      const auto place = std::ranges::find(trace.processes(), processes[process],
                                           [](const auto& each) { return each.get(); });
      process = static_cast<std::size_t>(place - trace.processes().begin());
    }
    builder.endRank(threads);
    undecodable += read.undecodable;
    if (read.any_event) {
      origin_ns = std::min(origin_ns.value_or(read.first_event_ns), read.first_event_ns);
    }
  }
  addWholeness(trace, undecodable, model);
  if (bytes_in_memory > 0) {
    model.left_out.push_back(fmt::format(
        "{} bytes of files in the memory of nodes, which are no I/O on storage", bytes_in_memory));
  }
  // They may have renamed and removed files of the ranks.
  std::vector<std::string> without;
  addProcessesWithoutRank(without_rank, shared, paths, names, without);
  builder.finish(paths, names.standing(), origin_ns.value_or(0), model, &made.steps);
  for (std::string& sentence : sentencesOf(doubts, paths)) {
    model.left_out.push_back(std::move(sentence));
  }
  measureIo(trace, origin_ns.value_or(0), options.longest_gap, made.steps, model);
  for (std::string& sentence : without) model.left_out.push_back(std::move(sentence));
  return made;
}

}  // namespace omnio::phases
