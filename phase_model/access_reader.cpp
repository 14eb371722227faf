#include "phase_model/access_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/printable.hpp"
#include "core/event/deferred_reads.hpp"
#include "core/event/io_requests.hpp"
#include "core/mpi/data_layout.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/merged_reader.hpp"
#include "phase_model/file_position.hpp"

namespace omnio::phases {

namespace {

// Accesses in the order in which they began, held back behind a read whose bytes a later event
// tells (core/event/deferred_reads.hpp).
class AccessQueue {
 public:
  using Take = std::function<void(const Access&)>;

  // Both outlive this object; `take` gets what moved bytes.
  AccessQueue(const Take& take, Doubts& doubts) : take_(take), doubts_(doubts) {}

  void add(const Access& access) {
    if (held_.empty()) {
      ++passed_;
      take_(access);
      return;
    }
    held_.push_back({access, true});
    keepBounds();
  }

  // One whose bytes are those asked for; returns the number by which gotBytes() speaks of it.
  std::size_t addBegun(const Access& access) {
    held_.push_back({access, false});
    keepBounds();
    return passed_ + held_.size() - 1;
  }

  void gotBytes(std::size_t number, std::uint64_t bytes) {
    if (number < passed_) return;  // given up
    Held& held = held_[number - passed_];
    held.access.bytes = bytes;
    held.is_known = true;
    passKnown();
  }

  // There are no more: a read that was never ended got nothing.
  void finish() {
    for (Held& held : held_) {
      if (held.is_known) continue;
      ++doubts_.never_ended;
      held.access.bytes = 0;
      held.is_known = true;
    }
    passKnown();
  }

 private:
  struct Held {
    Access access;
    bool is_known;
  };

  void keepBounds() {
    if (held_.size() <= kMostHeld) return;
    ++doubts_.ended_too_late;
    passFront();
    passKnown();
  }

  void passKnown() {
    while (!held_.empty() && held_.front().is_known) passFront();
  }

  void passFront() {
    ++passed_;
    if (held_.front().access.bytes > 0) take_(held_.front().access);
    held_.pop_front();
  }

  const Take& take_;
  Doubts& doubts_;
  std::deque<Held> held_;
  std::size_t passed_ = 0;  // number of the front
};

// Where a log's events come from.
struct Source {
  const tracefile::Process* process;
  std::uint32_t thread;  // numbered over the processes of the rank
};

class RankReader {
 public:
  RankReader(const std::vector<const tracefile::Process*>& processes, int rank,
             const mpi::MpiSharedOffsets& shared, event::PathTable& paths, Doubts& doubts,
             const std::function<void(const Access&)>& take)
      : rank_(rank),
        doubts_(doubts),
        queue_(take, doubts),
        posix_(processes, paths, sessions_, doubts),
        mpi_(sessions_, shared) {}

  void read(const Source& source, const event::Event& event) {
    if (event.row->api == calls::Api::kThreads) return;
    Steps& steps = steps_[source.thread];
    if (steps.requests.endsBelow(event)) return;
    steps.now = steps.next;
    if (calls::isIo(*event.row) || steps.requests.take(event)) ++steps.next;
    if (event.row->api != calls::Api::kMpi) {
      if (const auto access = posixAccess(source, event)) queue_.add(*access);
      return;
    }
    event::LaterReads& later = later_[source.process->token];
    const std::optional<Access> access = mpiAccess(source, event);
    if (event::LaterReads::begins(event)) {
      later.begin(event, access ? queue_.addBegun(*access) : kLeftOut, got_);
      return;
    }
    later.end(event, got_);
    if (access) queue_.add(*access);
  }

  void readBelow(const Source& source, const event::Event& event) {
    steps_[source.thread].requests.takeBelow(event);
    mpi_.takeBelow(*source.process, event);
  }

  void finish() {
    queue_.finish();
    posix_.finish();
  }

 private:
  static constexpr std::size_t kLeftOut = ~std::size_t{0};  // of reads that are no access

  bool isStorage(const event::Event& event) {
    const event::Handle* handle = event.handle;
    if (handle == nullptr || handle->definition.kind == wire::FileKind::kRegular) return true;
    if (event.bytes > 0) ++doubts_.no_storage;
    return false;
  }

  std::optional<Access> mpiAccess(const Source& source, const event::Event& event) {
    const int tick = calls::indexOf(*event.row, calls::Role::kTick);
    if (tick < 0) return {};
    // Ticks count the event itself. Those of file operations say nothing about what the process
    // did between them.
    const auto now = static_cast<std::uint64_t>(
        std::max<std::int64_t>(event.arguments[static_cast<std::size_t>(tick)], 0));
    const std::uint64_t file_events = ++file_events_[source.process->token];
    const Place placed = mpi_.take(*source.process, event);
    if (!event::transfersData(event) || event.bytes == 0 || !isStorage(event)) return {};
    if (placed.end_of_blocks) ++doubts_.several_blocks;
    return accessOf(source, event, placed, now, now > file_events ? now - file_events : 0);
  }

  std::optional<Access> posixAccess(const Source& source, const event::Event& event) {
    const Place place = posix_.take(*source.process, event);
    if (!event::transfersData(event) || event.failed || !isStorage(event)) return {};
    if (!event::countsBytes(*event.row)) ++doubts_.unknown_bytes;
    if (event.at_least) ++doubts_.at_least;
    if (event.bytes == 0) return {};
    return accessOf(source, event, place, 0, 0);
  }

  Access accessOf(const Source& source, const event::Event& event, const Place& place,
                  std::uint64_t tick, std::uint64_t others) {
    // A position below 0 can only come of events that are missing, one beyond all of damage.
    const bool known = place.known && place.offset >= 0 && place.offset <= mpi::DataLayout::kMost &&
                       event.bytes <= std::uint64_t{mpi::DataLayout::kMost};
    if (!known) ++doubts_.unknown_offset;
    return {.rank = rank_,
            .thread = source.thread,
            .file = event.file,
            .operation = event.row->call_class == calls::Class::kRead ? model::Operation::kRead
                                                                      : model::Operation::kWrite,
            .manner = place.manner,
            .offset_known = known,
            .offset = known ? place.offset : 0,
            .bytes = event.bytes,
            .in_view = known ? place.in_view : std::nullopt,
            .end_of_blocks = known ? place.end_of_blocks : std::nullopt,
            .blocks = place.blocks,
            .tick = tick,
            .others = others,
            .session = place.session,
            .step = steps_[source.thread].now,
            .start_ns = event.start_ns,
            .end_ns = event.end_ns};
  }

  // Those of a thread, counted.
  struct Steps {
    std::uint64_t now = 0;
    std::uint64_t next = 0;
    event::IoRequests requests;
  };

  int rank_;
  Doubts& doubts_;
  std::map<std::uint32_t, Steps> steps_;  // by Source::thread
  AccessQueue queue_;
  std::map<std::uint64_t, event::LaterReads> later_;  // by process
  const event::LaterReads::Take got_ = [this](std::size_t number, std::uint64_t bytes) {
    if (number != kLeftOut) queue_.gotBytes(number, bytes);
  };
  std::uint64_t sessions_ = 0;
  PosixPositions posix_;
  MpiPositions mpi_;
  std::map<std::uint64_t, std::uint64_t> file_events_;  // by process
};

std::string filesIn(const std::set<event::FileId>& files, const event::PathTable& paths) {
  std::string text = base::printable(paths.path(*files.begin()));
  if (files.size() > 1) text += fmt::format(" and {} more", files.size() - 1);
  return text;
}

}  // namespace

std::vector<std::string> sentencesOf(const Doubts& doubts, const event::PathTable& paths) {
  std::vector<std::string> sentences;
  const auto say = [&sentences](std::uint64_t count, std::string_view what) {
    if (count > 0) {
      sentences.push_back(fmt::format("{} access{} {}", count, count == 1 ? "" : "es", what));
    }
  };
  say(doubts.unknown_bytes, "by calls that do not return how many bytes they read (fscanf)");
  say(doubts.at_least,
      "of lines with NUL bytes at the end of a file (fgets): of at least the bytes that count");
  say(doubts.never_ended, "by nonblocking and split calls that no other ended: reads of no bytes");
  say(doubts.ended_too_late,
      fmt::format("by nonblocking and split calls that ended more than {} others later: counted "
                  "with what they asked for",
                  kMostHeld));
  say(doubts.no_storage, "of directories, devices and the like, which are not storage");
  say(doubts.unknown_offset,
      "at an offset that the trace does not have (shared file pointers, positions after a read "
      "that "
      "was cut short, views whose types are not known): of random mode, weight exact, "
      "offsets not known");
  say(doubts.several_blocks,
      "over more than one block of a view: requests are whole; their offsets are nominal where "
      "those of all processes fill a region, else the first block's");
  if (!doubts.began_elsewhere.empty()) {
    sentences.push_back(
        fmt::format("the positions of files that were open before the recording began: "
                    "offsets count from there ({})",
                    filesIn(doubts.began_elsewhere, paths)));
  }
  if (!doubts.appended.empty()) {
    sentences.push_back(
        fmt::format("the size of files before they were appended to: offsets count "
                    "from what the rank itself had seen ({})",
                    filesIn(doubts.appended, paths)));
  }
  return sentences;
}

ReadRank readAccesses(const std::vector<const tracefile::Process*>& processes, int rank,
                      const mpi::MpiSharedOffsets& shared, event::PathTable& paths,
                      tracefile::FileNames& names, Doubts& doubts,
                      const std::function<void(const Access&)>& take) {
  ReadRank outcome;
  RankReader rank_reader(processes, rank, shared, paths, doubts, take);
  tracefile::MergedReader events;
  std::vector<Source> sources;
  std::map<std::pair<const tracefile::Process*, std::uint32_t>, std::uint32_t> threads;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const tracefile::Process* const process = processes[i];
    for (const tracefile::Log& log : process->logs) {
      const auto number = static_cast<std::uint32_t>(threads.size());
      const auto [thread, is_new] = threads.try_emplace({process, log.thread}, number);
      if (is_new) outcome.threads.emplace_back(i, log.thread);
      sources.push_back({.process = process, .thread = thread->second});
      events.addLog<tracefile::LogReader>(*process, log, paths);
    }
  }
  while (const event::Event* event = events.next()) {
    const Source& source = sources[events.source()];
    names.take(*source.process, *event);
    if (event->depth > 0) {
      rank_reader.readBelow(source, *event);
      continue;
    }
    if (!outcome.any_event) outcome.first_event_ns = event->start_ns;
    outcome.any_event = true;
    rank_reader.read(source, *event);
  }
  rank_reader.finish();
  outcome.undecodable = events.undecodable();
  return outcome;
}

}  // namespace omnio::phases
