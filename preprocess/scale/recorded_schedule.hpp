// A schedule that is read to be scaled: its events in a spool, and what repeats in each thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/compact/line_kinds.hpp"
#include "core/model/event_json.hpp"
#include "core/model/schedule_reader.hpp"
#include "core/pattern/nest_finder.hpp"
#include "preprocess/scale/event_spool.hpp"

namespace omnio::preprocess::scale {

// An event: the thread by its place in the document, and which of the thread's events, from 0. The
// n-th delay behind it, from 1, or 0 for the event itself.
struct EventPlace {
  std::uint32_t thread = 0;
  std::uint64_t event = 0;
  std::uint64_t delay = 0;
  auto operator<=>(const EventPlace&) const = default;
};

// The same calls, several times: with other numbers, and other names where these differ in
// their numbers alone.
struct TurnLoop {
  std::uint64_t begin = 0;    // its first event
  std::uint64_t in_turn = 0;  // events
  std::uint64_t turns = 0;

  std::uint64_t end() const { return begin + in_turn * turns; }
};

// These hold for all lines of a kind.
struct KindFacts {
  std::string command;
  std::vector<std::string> keys;  // of its numbers
  std::uint32_t symbol = 0;       // shared with kinds that differ in widths of numbers alone
  bool makes_descriptor = false;  // then its result is one
  bool reads = false;
  bool writes = false;
  bool seeks = false;          // then its result is a place in the file
  bool is_positional = false;  // "offset" is for information
  bool counts_bytes = false;   // the result is bytes, or items of "size" bytes
  bool is_mpi = false;
};

// The kinds of the lines of one schedule or several.
struct EventKinds {
  model::LineKinds lines;
  std::vector<KindFacts> facts;
  std::map<std::string, std::uint32_t, std::less<>> symbols;
};

// The key names a descriptor that the line uses.
bool isDescriptorKey(std::string_view key);
// The number is a place in a file.
bool isPlaceInFile(const KindFacts& facts, std::size_t number);

struct RecordedThread {
  model::ScheduleThread head;
  std::uint64_t spooled = 0;      // where its events begin
  std::uint64_t events = 0;       // without the delays behind them
  std::uint64_t most_delays = 0;  // behind an event
  std::vector<TurnLoop> loops;    // outermost ones, in order
};

// "rank 3", "thread 1 of rank 3"
std::string nameOf(const RecordedThread& thread);

class RecordedSchedule final : public model::ScheduleSink {
 public:
  // Keeps the events in a file in `directory`. `kinds` may be those of other schedules, too.
  RecordedSchedule(const std::filesystem::path& directory, EventKinds& kinds);

  Complaint global(const model::ScheduleGlobal& global) override;
  Complaint file(model::FileNumber number, const model::ScheduleFile& file) override;
  Complaint beginThread(const model::ScheduleThread& thread) override;
  Complaint event(const model::ScheduleEvent& event) override;
  Complaint endThread() override;

  const model::ScheduleGlobal& global() const { return global_; }
  const std::vector<model::ScheduleFile>& files() const { return files_; }
  // nullptr: the list has none of this location.
  const model::ScheduleFile* fileAt(const std::string& location) const;
  // By file: whether an event names it.
  const std::vector<bool>& named() const { return named_; }
  const std::vector<RecordedThread>& threads() const { return threads_; }
  std::vector<RecordedThread>& threads() { return threads_; }
  const model::LineKinds& lines() const { return kinds_.lines; }
  const KindFacts& factsOf(std::uint32_t kind) const { return kinds_.facts[kind]; }
  // Whether a call of MPI-IO sets the view of a file.
  bool setsViews() const { return sets_views_; }
  EventSpool& spool() { return spool_; }

  // The event with this id; the reader has checked that there is one.
  const EventPlace& eventOf(std::uint64_t id) const { return ids_.at(id); }
  // How many waits there are for each id.
  const std::unordered_map<std::uint64_t, std::uint64_t>& waitsById() const { return waits_; }
  // Whether there is a delay with an id.
  bool hasDelay(const EventPlace& place) const { return delays_.contains(place); }
  // Where the descriptor is made, and on which file; nullptr: -1, or not known.
  struct Made {
    EventPlace by;
    model::FileNumber file = model::kNoFileNumber;
    std::uint32_t symbol = 0;
  };
  const Made* madeOf(int rank, std::int64_t descriptor) const;

 private:
  void flush();
  std::uint32_t symbolOf(const model::ScheduleEvent& event, std::uint32_t kind);
  void noteKind(const model::ScheduleEvent& event, std::uint32_t kind);

  EventKinds& kinds_;
  EventSpool spool_;
  model::ScheduleGlobal global_;
  std::vector<model::ScheduleFile> files_;
  std::vector<bool> named_;
  std::unordered_map<std::string, std::size_t> file_numbers_;
  bool sets_views_ = false;
  std::vector<std::string> locations_;
  model::LineSplitter line_;
  model::EventJson<model::LineSplitter> json_{line_, locations_};
  std::vector<RecordedThread> threads_;
  std::unordered_map<std::uint64_t, EventPlace> ids_;
  std::unordered_map<std::uint64_t, std::uint64_t> waits_;
  std::vector<std::unordered_map<std::int64_t, Made>> made_;  // by rank
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> pairs_;
  std::int64_t previous_end_ns_ = 0;
  EventRecord record_;
  std::optional<EventRecord> pending_;  // the event that delays may follow
  std::set<EventPlace> delays_;
  std::uint64_t found_ = 0;  // events of the thread that the finder has passed on
  pattern::NestFinder finder_;
};

}  // namespace omnio::preprocess::scale
