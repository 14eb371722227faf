// The ranks of a schedule in its compact form: what repeats as loops, and ranks that do the same as
// one program (docs/formats/schedule.md, "Loops").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/document_file.hpp"
#include "core/model/compact/line_kinds.hpp"
#include "core/model/compact/line_splitter.hpp"
#include "core/model/compact/repeat.hpp"
#include "core/model/compact/times_file.hpp"
#include "core/model/schedule.hpp"
#include "core/pattern/nest_finder.hpp"

namespace omnio::model {

// Appends a nest as lines of JSON, each loop in the place of an event.
class NestLines {
 public:
  explicit NestLines(const LineKinds& kinds) : kinds_(kinds) {}
  // `times`: the member "times" of the nest as JSON, or an empty text.
  void append(std::string& out, const pattern::Nest& nest, const LineContext& context,
              std::string_view times = {}) const;

 private:
  const LineKinds& kinds_;
};

// A list of files with loops over names that differ in their numbers alone, as JSON. The order of
// the files is lost.
std::string compactFiles(const std::vector<std::string>& lines);

class CompactRanks {
 public:
  // Writes to `out`. `times`: takes all times; nullptr: the schedule has their means alone.
  // `ranks`: how many there are.
  CompactRanks(base::DocumentFile& out, TimesWriter* times, int ranks);

  // Threads in the order of the document; events as EventJson::appendAfter() makes them.
  void beginThread(const ScheduleThread& thread);
  void event(const LineSplitter& line);
  void endThread();
  // Ends the list of ranks.
  void finish();
  std::uint64_t lines() const { return written_lines_; }  // of events

 private:
  struct Item {
    pattern::Nest nest;
    std::uint64_t first_time = 0;  // of its times, among those of the thread
    std::uint64_t times = 0;
  };
  struct Thread {
    ScheduleThread header;
    pattern::Field stream;  // of the times
    double recorder_sum = 0;
    double computing_sum = 0;
    int computing_count = 0;  // of ranks that it is known of
    std::vector<Item> items;
  };
  // The program of one rank, or of several from `rank` on.
  struct Program {
    int rank = 0;
    int ranks = 1;
    std::vector<Thread> threads;
  };

  void take(const pattern::Nest& nest);
  void endRank();
  void share(Program program);
  bool join(Program& program);
  void flushShared();
  void write(Program& program);
  void writeHead(const Program& program);
  void writeThreadHead(const Thread& thread, const Program& program, bool is_first);
  void writeItem(const Item& item, const Program& program);

  base::DocumentFile& out_;
  TimesWriter* const times_;
  const int ranks_;
  LineKinds kinds_;
  NestLines lines_{kinds_};
  pattern::NestFinder finder_{[this](const pattern::Nest& nest) { take(nest); },
                              Repeat::kMostWrittenOut};
  std::string text_;
  Program current_;
  std::size_t size_ = 0;     // of the current program, in parts
  bool is_written_ = false;  // it became too large to be held, and is written as it comes
  std::size_t written_threads_ = 0;
  bool first_item_ = true;
  std::uint64_t thread_times_ = 0;  // of the thread, in the items so far
  int streams_ = 0;
  std::uint64_t written_lines_ = 0;
  int next_rank_ = 0;  // the first one that is not yet taken
  bool first_program_ = true;
  std::optional<Program> shared_;  // the last ranks, which the next one may join
};

}  // namespace omnio::model
