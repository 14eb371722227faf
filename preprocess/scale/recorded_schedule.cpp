#include "preprocess/scale/recorded_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/event/event.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::preprocess::scale {

using model::ScheduleEvent;

bool isDescriptorKey(std::string_view key) {
  constexpr std::string_view kKeys[] = {"fd", "source", "newfd", "dirfd", "newdirfd"};
  return std::ranges::find(kKeys, key) != std::end(kKeys);
}

bool isPlaceInFile(const KindFacts& facts, std::size_t number) {
  constexpr std::string_view kKeys[] = {"offset", "position", "length", "range_offset", "disp"};
  const std::string& key = facts.keys[number];
  return std::ranges::find(kKeys, key) != std::end(kKeys) || (facts.seeks && key == "result");
}

std::string nameOf(const RecordedThread& thread) {
  return thread.head.thread == 0
             ? fmt::format("rank {}", thread.head.rank)
             : fmt::format("thread {} of rank {}", thread.head.thread, thread.head.rank);
}

RecordedSchedule::RecordedSchedule(const std::filesystem::path& directory, EventKinds& kinds)
    : kinds_(kinds), spool_(directory), finder_([this](const pattern::Nest& nest) {
        const std::uint64_t events = pattern::itemsOf(nest);
        if (nest.isLoop()) {
          threads_.back().loops.push_back(
              {.begin = found_, .in_turn = events / nest.count, .turns = nest.count});
        }
        found_ += events;
      }) {}

model::ScheduleSink::Complaint RecordedSchedule::global(const model::ScheduleGlobal& global) {
  global_ = global;
  made_.resize(static_cast<std::size_t>(std::max(global.ranks, 0)));
  return {};
}

model::ScheduleSink::Complaint RecordedSchedule::file(model::FileNumber /*number*/,
                                                      const model::ScheduleFile& file) {
  files_.push_back(file);
  locations_.push_back(file.location);
  named_.push_back(false);
  file_numbers_.emplace(file.location, files_.size() - 1);
  return {};
}

model::ScheduleSink::Complaint RecordedSchedule::beginThread(const model::ScheduleThread& thread) {
  threads_.push_back({.head = thread, .spooled = spool_.end(), .events = 0, .loops = {}});
  previous_end_ns_ = 0;
  found_ = 0;
  return {};
}

void RecordedSchedule::noteKind(const ScheduleEvent& event, std::uint32_t kind) {
  if (kind < kinds_.facts.size()) return;
  KindFacts& facts = kinds_.facts.emplace_back();
  facts.keys = kinds_.lines.keysOf(kind);
  facts.makes_descriptor = model::makesDescriptor(event);
  if (event.step != model::Step::kCall) {
    facts.command = base::wordOf(model::kSteps, event.step);
  } else {
    const calls::Row& row = *event.row;
    facts.command = row.name;
    facts.is_mpi = row.api == calls::Api::kMpi;
    facts.reads = !event.failed && row.call_class == calls::Class::kRead;
    facts.writes = !event.failed && (row.call_class == calls::Class::kWrite ||
                                     (facts.is_mpi && event::transfersData(row)));
    sets_views_ = sets_views_ || calls::has(row, calls::Role::kFiletype);
    facts.seeks = row.result == calls::Result::kPosition;
    facts.counts_bytes = facts.is_mpi || row.result == calls::Result::kBytes ||
                         row.result == calls::Result::kItems || row.result == calls::Result::kCount;
    facts.is_positional = model::positionKey(event) == "offset";
  }
  facts.symbol = kinds_.symbols
                     .try_emplace(kinds_.lines.withoutWidths(kind),
                                  static_cast<std::uint32_t>(kinds_.symbols.size()))
                     .first->second;
}

// Calls are the same where they are so but for their numbers, and their descriptor comes from the
// same call.
std::uint32_t RecordedSchedule::symbolOf(const ScheduleEvent& event, std::uint32_t kind) {
  std::uint32_t of_descriptor = 0;
  if (const Made* made = madeOf(threads_.back().head.rank, static_cast<std::int64_t>(event.fd))) {
    of_descriptor = made->symbol + 1;
  }
  return pairs_
      .try_emplace({kinds_.facts[kind].symbol, of_descriptor},
                   static_cast<std::uint32_t>(pairs_.size()))
      .first->second;
}

const model::ScheduleFile* RecordedSchedule::fileAt(const std::string& location) const {
  const auto found = file_numbers_.find(location);
  return found == file_numbers_.end() ? nullptr : &files_[found->second];
}

const RecordedSchedule::Made* RecordedSchedule::madeOf(int rank, std::int64_t descriptor) const {
  const auto& of_rank = made_[static_cast<std::size_t>(rank)];
  const auto found = of_rank.find(descriptor);
  return found == of_rank.end() ? nullptr : &found->second;
}

void RecordedSchedule::flush() {
  if (pending_) spool_.append(*pending_);
  pending_.reset();
}

model::ScheduleSink::Complaint RecordedSchedule::event(const ScheduleEvent& event) {
  RecordedThread& thread = threads_.back();
  const bool is_delay = event.step == model::Step::kDelay && pending_.has_value();
  if (!is_delay) {
    flush();
    ++thread.events;
  }
  const EventPlace place{.thread = static_cast<std::uint32_t>(threads_.size() - 1),
                         .event = thread.events - 1,
                         .delay = is_delay ? pending_->delays.size() + 1 : 0};
  ScheduleEvent alone = event;
  record_.id = std::exchange(alone.id, 0);
  record_.waits = std::exchange(alone.after, {});
  for (const model::Wait& wait : record_.waits) {
    if (wait.id != 0) ++waits_[wait.id];
  }
  for (const model::FileNumber file : {event.file, event.new_file}) {
    if (file != model::kNoFileNumber) named_[static_cast<std::size_t>(file)] = true;
  }
  line_.clear();
  const bool has_time =
      event.step != model::Step::kPreopened || event.start_ns != 0 || event.end_ns != 0;
  json_.appendAfter(alone, has_time ? previous_end_ns_ : 0);
  if (has_time) previous_end_ns_ = event.end_ns;
  record_.kind = kinds_.lines.kindOf(line_);
  record_.numbers = line_.numbers();
  record_.measures = line_.measures();
  noteKind(event, record_.kind);
  if (record_.id != 0) ids_.emplace(record_.id, place);
  if (model::makesDescriptor(event)) {
    const int rank = thread.head.rank;
    Made made{.by = place, .file = event.file, .symbol = kinds_.facts[record_.kind].symbol};
    if (const Made* from = madeOf(rank, static_cast<std::int64_t>(event.fd));
        from != nullptr && made.file == model::kNoFileNumber) {
      made.file = from->file;
    }
    made_[static_cast<std::size_t>(rank)].emplace(static_cast<std::int64_t>(event.new_fd), made);
  }
  if (is_delay) {
    pending_->delays.push_back(record_);
    thread.most_delays = std::max(thread.most_delays, place.delay);
    if (record_.id != 0) delays_.insert(place);
    return {};
  }
  pending_ = record_;
  finder_.add(symbolOf(event, record_.kind), {});
  return {};
}

model::ScheduleSink::Complaint RecordedSchedule::endThread() {
  flush();
  finder_.finish();
  return {};
}

}  // namespace omnio::preprocess::scale
