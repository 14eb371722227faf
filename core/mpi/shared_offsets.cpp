#include "core/mpi/shared_offsets.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "core/mpi/data_layout.hpp"
#include "core/mpi/file_offsets.hpp"
#include "core/mpi/groups.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/merged_reader.hpp"
#include "core/wire/info.hpp"

namespace omnio::mpi {
namespace {

// An offset of -1 is the position (preadv2, pwritev2), others below 0 and beyond any file are
// damage.
bool isInAFile(std::int64_t offset, std::uint64_t bytes) {
  return offset >= 0 && offset <= DataLayout::kMost && bytes <= std::uint64_t{DataLayout::kMost};
}

}  // namespace

void CallsBelow::add(const event::Event& event) {
  if (!event::transfersData(event)) return;
  constexpr std::size_t kMost = 4096;  // of one call; more are not worth it
  if (calls_.size() == kMost) calls_.pop_front();
  calls_.push_back(
      {.file = event.file,
       .call_class = event.row->call_class,
       .has_offset = calls::has(*event.row, calls::Role::kOffset) &&
                     isInAFile(event::argumentOf(event, calls::Role::kOffset), event.bytes),
       .offset = event::argumentOf(event, calls::Role::kOffset),
       .bytes = event.bytes,
       .start_ns = event.start_ns,
       .end_ns = event.end_ns});
}

std::optional<CallsBelow::Moved> CallsBelow::within(const event::Event& event) {
  constexpr std::size_t kMostPieces = 64;
  StridedPieces pieces(kMostPieces);
  Moved moved{.begin = DataLayout::kMost, .end = 0, .pieces = {}};
  bool is_known = !event.failed && event.bytes > 0;
  bool is_one_way = true;
  for (const Call& call : calls_) {
    if (call.start_ns < event.start_ns || call.end_ns > event.end_ns || call.file != event.file) {
      continue;
    }
    is_known = is_known && call.has_offset;
    if (!is_known) break;
    if (call.call_class != event.row->call_class) {  // to write back what lies between
      is_one_way = false;
    } else if (call.bytes > 0) {
      const auto bytes = static_cast<std::int64_t>(call.bytes);
      moved.begin = std::min(moved.begin, call.offset);
      moved.end = std::max(moved.end, call.offset + bytes);
      pieces.add({.first = call.offset, .bytes = bytes, .stride = 0, .count = 1});
    }
  }
  calls_.clear();
  if (!is_known || moved.end == 0) return {};
  if (is_one_way && !pieces.isFull() && pieces.bytes() == static_cast<std::int64_t>(event.bytes)) {
    moved.pieces = pieces.strides();
  }
  return moved;
}

namespace {

using calls::Role;

// A step of the shared pointer, as one rank has made it.
struct Step {
  enum Kind : std::uint8_t { kUnordered, kOrdered, kView, kSeek, kOther };
  Kind kind = kOther;
  std::uint64_t seq = 0;  // of collective ones
  std::uint64_t tick = 0;
  std::optional<std::int64_t> etypes;  // moved; of a seek where to
  std::int64_t whence = SEEK_SET;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// All that the ranks of a file did to its shared pointer.
struct SharedFile {
  struct Rank {
    const tracefile::Process* process = nullptr;
    std::vector<Step> steps;
  };
  std::uint32_t size = 0;
  std::map<std::int32_t, Rank> ranks;
  std::optional<std::int64_t> begin;  // of the pointer, after the open
};

class History {
 public:
  // The processes that follow, in order.
  void begin(const tracefile::Process& process) {
    groups_.add(process.info);
    ++index_;
  }
  // In order, all of a process.
  void take(const tracefile::Process& process, const event::Event& event,
            const std::optional<MpiFileOffsets::Placed>& placed) {
    const calls::Row& row = *event.row;
    if (row.call_class == calls::Class::kOpen && !event.failed && event.handle != nullptr) {
      open(process, event);
      return;
    }
    if (event.handle == nullptr) return;
    const auto known = open_.find({&process, event.handle->definition.handle});
    if (known == open_.end()) return;
    Step step{.seq = static_cast<std::uint64_t>(event::argumentOf(event, Role::kSeq)),
              .tick = static_cast<std::uint64_t>(event::argumentOf(event, Role::kTick)),
              .etypes = {},
              .start_ns = event.start_ns,
              .end_ns = event.end_ns};
    if (placed && placed->form.pointer == MpiPointer::kShared) {
      step.kind = placed->form.collective ? Step::kOrdered : Step::kUnordered;
      if (!event.failed && placed->file->etype_bytes > 0) {
        step.etypes = static_cast<std::int64_t>(event.request) / placed->file->etype_bytes;
      }
    } else if (!event.failed && calls::has(row, Role::kFiletype)) {
      step.kind = Step::kView;
    } else if (!event.failed && calls::has(row, Role::kWhence) && step.seq > 0) {
      step.kind = Step::kSeek;
      step.etypes = event::argumentOf(event, Role::kOffset);
      step.whence = event::argumentOf(event, Role::kWhence);
    }
    if (step.kind != Step::kOther || step.seq > 0) known->second->steps.push_back(step);
    if (row.call_class == calls::Class::kClose) open_.erase(known);
  }

  const std::map<GroupIndex, SharedFile>& files() const { return files_; }

 private:
  void open(const tracefile::Process& process, const event::Event& event) {
    const auto group = static_cast<std::uint64_t>(event::argumentOf(event, Role::kNewComm));
    const OwnGroup* own = groups_.own(index_ - 1, group);
    if (own == nullptr) return;
    SharedFile& file = files_[own->group];
    file.size = groups_.group(own->group).ranks();
    const std::int64_t position = event::argumentOf(event, Role::kPosition);
    if (position >= 0) file.begin = position;
    SharedFile::Rank& rank = file.ranks[own->rank];
    rank.process = &process;
    open_[{&process, event.handle->definition.handle}] = &rank;
  }

  MpiGroups groups_;
  ProcessIndex index_ = 0;  // behind the process that is read
  std::map<GroupIndex, SharedFile> files_;
  std::map<std::pair<const tracefile::Process*, std::uint32_t>, SharedFile::Rank*> open_;
};

// Follows the pointer from collective call to collective call, and puts the places of ordered
// accesses into `places`.
class Follower {
 public:
  Follower(const SharedFile& file, MpiSharedOffsets::Places& places)
      : file_(file), places_(places) {}

  void follow() {
    if (file_.ranks.size() != file_.size) return;
    pointer_ = file_.begin;
    std::vector<Place> places;
    for (const auto& [number, rank] : file_.ranks) places.push_back({&rank, 0});
    while (true) {
      for (Place& place : places) takeUnordered(place);
      std::vector<const Step*> steps;
      for (Place& place : places) {
        if (place.next == place.rank->steps.size()) return;
        steps.push_back(&place.rank->steps[place.next++]);
      }
      for (const Step* step : steps) {
        if (step->seq != steps[0]->seq || step->kind != steps[0]->kind) return;  // not whole
      }
      collective(places, steps);
    }
  }

 private:
  struct Place {
    const SharedFile::Rank* rank;
    std::size_t next;
  };

  // Their sum is what counts, as long as all of them lie between two collective calls in time too.
  void takeUnordered(Place& place) {
    while (place.next < place.rank->steps.size() &&
           place.rank->steps[place.next].kind == Step::kUnordered) {
      const Step& step = place.rank->steps[place.next++];
      if (step.start_ns < last_end_) pointer_.reset();
      unordered_end_ = std::max(unordered_end_, step.end_ns);
      moveOn(pointer_, step.etypes);
    }
  }

  void collective(const std::vector<Place>& at, const std::vector<const Step*>& steps) {
    std::int64_t first_start = steps[0]->start_ns;
    std::int64_t end = steps[0]->end_ns;
    for (const Step* step : steps) {
      first_start = std::min(first_start, step->start_ns);
      end = std::max(end, step->end_ns);
    }
    const Step& any = *steps[0];
    switch (any.kind) {
      case Step::kOrdered:
        if (unordered_end_ > first_start) pointer_.reset();
        for (std::size_t i = 0; i < steps.size(); ++i) {
          if (pointer_) places_[{at[i].rank->process, steps[i]->tick}].etypes = *pointer_;
          moveOn(pointer_, steps[i]->etypes);
        }
        break;
      case Step::kView:
        pointer_ = 0;
        break;
      case Step::kSeek:
        if (any.whence == SEEK_SET) {
          pointer_ = any.etypes;
        } else if (any.whence == SEEK_CUR && unordered_end_ <= first_start) {
          moveOn(pointer_, any.etypes);
        } else {
          pointer_.reset();
        }
        break;
      default:
        return;
    }
    last_end_ = end;
  }

  const SharedFile& file_;
  MpiSharedOffsets::Places& places_;
  std::optional<std::int64_t> pointer_;  // in etypes
  std::int64_t unordered_end_ = INT64_MIN;
  std::int64_t last_end_ = INT64_MIN;  // of the last collective call that the pointer counts from
};

// The place of an access that moved just this.
std::optional<MpiSharedPlace> placeOf(const event::Event& event, const MpiFileState& file,
                                      CallsBelow::Moved& moved) {
  MpiSharedPlace place;
  if (file.view) {
    place.etypes =
        file.view->requestAt(moved.begin, moved.end, static_cast<std::int64_t>(event.bytes));
  } else {
    place.pieces = std::move(moved.pieces);
  }
  if (!place.etypes && place.pieces.empty()) return {};
  return place;
}

}  // namespace

bool usesSharedPointers(const tracefile::ProcessInfo& info) {
  return !info.text(wire::info::kSharedPointers).empty();
}

MpiSharedOffsets::MpiSharedOffsets(const std::vector<const tracefile::Process*>& processes) {
  event::PathTable paths;
  History history;
  for (const tracefile::Process* process : processes) {
    if (!usesSharedPointers(process->info)) continue;
    history.begin(*process);
    tracefile::MergedReader events;
    std::vector<std::uint32_t> threads;
    for (const tracefile::Log& log : process->logs) {
      events.addLog<tracefile::LogReader>(*process, log, paths);
      threads.push_back(log.number);
    }
    MpiFileOffsets offsets(process->info);
    std::map<std::uint32_t, CallsBelow> below;  // by log
    while (const event::Event* event = events.next()) {
      CallsBelow& calls = below[threads[events.source()]];
      if (event->depth == 1 && event->row->api == calls::Api::kPosix) calls.add(*event);
      if (event->depth > 0 || event->row->api != calls::Api::kMpi) continue;
      const std::optional<MpiFileOffsets::Placed> placed = offsets.take(*event);
      history.take(*process, *event, placed);
      if (!placed) continue;
      std::optional<CallsBelow::Moved> moved = calls.within(*event);
      if (!moved || placed->form.pointer != MpiPointer::kShared || placed->form.collective)
        continue;
      if (std::optional<MpiSharedPlace> place = placeOf(*event, *placed->file, *moved)) {
        places_[{process, static_cast<std::uint64_t>(event::argumentOf(*event, Role::kTick))}] =
            std::move(*place);
      }
    }
  }
  for (const auto& [id, file] : history.files()) Follower(file, places_).follow();
}

const MpiSharedPlace* MpiSharedOffsets::find(const tracefile::Process& process,
                                             std::uint64_t tick) const {
  const auto place = places_.find({&process, tick});
  return place == places_.end() ? nullptr : &place->second;
}

}  // namespace omnio::mpi
