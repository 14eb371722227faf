#include "phase_model/access_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "core/log_reader.hpp"
#include "core/merged_reader.hpp"
#include "core/printable.hpp"
#include "phase_model/mpi_position.hpp"
#include "phase_model/posix_position.hpp"

namespace omnio::phases {
namespace {

// Where a log's events come from.
struct Source {
  const Process* process;
  std::uint32_t thread;  // numbered over the processes of the rank
};

class RankReader {
 public:
  RankReader(const std::vector<const Process*>& processes, int rank, const MpiSharedOffsets& shared,
             Doubts& doubts, const std::function<void(const Access&)>& take)
      : rank_(rank),
        doubts_(doubts),
        take_(take),
        posix_(processes, sessions_),
        mpi_(sessions_, shared) {}

  void read(const Source& source, const Event& event) {
    if (event.row->api == calls::Api::kMpi) {
      readMpi(source, event);
    } else {
      readPosix(source, event);
    }
  }

  void finish() {
    const PositionDoubts& positions = posix_.doubts();
    doubts_.began_elsewhere.insert(positions.began_elsewhere.begin(),
                                   positions.began_elsewhere.end());
    doubts_.appended.insert(positions.appended.begin(), positions.appended.end());
  }

 private:
  static bool movesBytes(const Event& event) {
    return event.row->call_class == calls::Class::kRead ||
           event.row->call_class == calls::Class::kWrite;
  }

  bool isStorage(const Event& event) {
    const Handle* handle = event.handle;
    if (handle == nullptr || handle->definition.kind == wire::FileKind::kRegular) return true;
    if (event.bytes > 0) ++doubts_.no_storage;
    return false;
  }

  void readMpi(const Source& source, const Event& event) {
    const int tick = calls::indexOf(*event.row, calls::Role::kTick);
    if (tick < 0) return;
    // Ticks count the event itself. Those of file operations say nothing about what the process
    // did between them.
    const auto now = static_cast<std::uint64_t>(
        std::max<std::int64_t>(event.arguments[static_cast<std::size_t>(tick)], 0));
    const std::uint64_t file_events = ++file_events_[source.process->token];
    const MpiPositions::Placed placed = mpi_.take(*source.process, event);
    if (!movesBytes(event) || event.bytes == 0 || !isStorage(event)) return;
    if (placed.several_blocks) ++doubts_.several_blocks;
    pass(source, event, {placed.known, placed.offset, placed.session}, placed.manner, now,
         now > file_events ? now - file_events : 0);
  }

  void readPosix(const Source& source, const Event& event) {
    if (!movesBytes(event)) {
      posix_.follow(*source.process, event);
      return;
    }
    const Place place = posix_.placeOf(*source.process, event);
    if (event.failed || !isStorage(event)) return;
    if (!countsBytes(*event.row)) ++doubts_.unknown_bytes;
    if (event.bytes == 0) return;
    const bool is_stream = event.row->api == calls::Api::kStdio;
    const bool explicit_offset = calls::has(*event.row, calls::Role::kOffset);
    const Manner manner{
        .interface = is_stream ? model::Interface::kStdio : model::Interface::kPosix,
        .pointer =
            explicit_offset ? model::PointerKind::kExplicit : model::PointerKind::kIndividual};
    pass(source, event, place, manner, 0, 0);
  }

  void pass(const Source& source, const Event& event, Place place, const Manner& manner,
            std::uint64_t tick, std::uint64_t others) {
    const bool known = place.known && place.offset >= 0;
    // a position below 0 can only come of events that are missing
    if (!known) ++doubts_.unknown_offset;
    take_({.rank = rank_,
           .thread = source.thread,
           .file = event.file,
           .operation = event.row->call_class == calls::Class::kRead ? model::Operation::kRead
                                                                     : model::Operation::kWrite,
           .manner = manner,
           .offset_known = known,
           .offset = known ? place.offset : 0,
           .bytes = event.bytes,
           .tick = tick,
           .others = others,
           .session = place.session,
           .start_ns = event.start_ns,
           .end_ns = event.end_ns});
  }

  int rank_;
  Doubts& doubts_;
  const std::function<void(const Access&)>& take_;
  std::uint64_t sessions_ = 0;
  PosixPositions posix_;
  MpiPositions mpi_;
  std::map<std::uint64_t, std::uint64_t> file_events_;  // by process
};

std::string filesIn(const std::set<FileId>& files, const PathTable& paths) {
  std::string text = printable(paths.path(*files.begin()));
  if (files.size() > 1) text += fmt::format(" and {} more", files.size() - 1);
  return text;
}

}  // namespace

std::vector<std::string> sentencesOf(const Doubts& doubts, const PathTable& paths) {
  std::vector<std::string> sentences;
  const auto say = [&sentences](std::uint64_t count, std::string_view what) {
    if (count > 0) {
      sentences.push_back(fmt::format("{} access{} {}", count, count == 1 ? "" : "es", what));
    }
  };
  say(doubts.unknown_bytes, "by calls that do not tell how many bytes they read (fscanf)");
  say(doubts.no_storage, "of directories, devices and the like, which are no storage");
  say(doubts.unknown_offset,
      "at an offset that the trace does not tell (shared file pointers, places behind a read that "
      "was cut short, views whose types are not known): of random mode, weight exact, "
      "offsets not known");
  say(doubts.several_blocks,
      "over more than one block of a view: the offset is the first block's, the request is whole");
  if (!doubts.began_elsewhere.empty()) {
    sentences.push_back(
        fmt::format("where files stood that were open before the recording began: "
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

ReadRank readAccesses(const std::vector<const Process*>& processes, int rank,
                      const MpiSharedOffsets& shared, PathTable& paths, Doubts& doubts,
                      const std::function<void(const Access&)>& take) {
  ReadRank outcome;
  RankReader rank_reader(processes, rank, shared, doubts, take);
  MergedReader events;
  std::vector<Source> sources;
  std::map<std::pair<const Process*, std::uint32_t>, std::uint32_t> threads;
  for (const Process* process : processes) {
    for (const Log& log : process->logs) {
      const auto number = static_cast<std::uint32_t>(threads.size());
      const auto thread = threads.try_emplace({process, log.thread}, number).first;
      sources.push_back({.process = process, .thread = thread->second});
      events.add(std::make_unique<LogReader>(*process, log, paths));
    }
  }
  while (const Event* event = events.next()) {
    if (event->depth > 0) continue;
    if (!outcome.any_event) outcome.first_event_ns = event->start_ns;
    outcome.any_event = true;
    rank_reader.read(sources[events.source()], *event);
  }
  rank_reader.finish();
  outcome.undecodable = events.undecodable();
  return outcome;
}

}  // namespace omnio::phases
