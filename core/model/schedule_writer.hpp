// Writes a schedule as a stream, an event a line. It appears under its name only when complete, and
// the file of its times with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/document_file.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/model/compact/compact_ranks.hpp"
#include "core/model/compact/line_splitter.hpp"
#include "core/model/compact/times_file.hpp"
#include "core/model/event_json.hpp"
#include "core/model/schedule.hpp"
#include "core/model/schedule_reader.hpp"

namespace omnio::model {

// How a schedule is written down.
struct ScheduleForm {
  bool is_compact = false;  // what repeats as loops, and ranks that do the same once
  // A compact one has all times in a file beside it. Else it has the means of each place.
  bool has_exact_times = true;
};

// What was written.
struct WrittenSchedule {
  std::uint64_t events = 0;
  std::uint64_t lines = 0;  // of these; fewer where a line stands for several
  std::uint64_t bytes = 0;  // of the document
  std::uint64_t times_bytes = 0;
};

class ScheduleWriter {
 public:
  // Without finish(), nothing is left.
  explicit ScheduleWriter(const std::filesystem::path& path, ScheduleForm form = {});
  ~ScheduleWriter();

  // Fails where the files cannot be written, before there is anything to write.
  base::Result<void> begun();

  // In the order of ScheduleSink. Errors are kept for finish().
  void global(const ScheduleGlobal& global);
  void file(const ScheduleFile& file);
  void beginThread(const ScheduleThread& thread);
  void event(const ScheduleEvent& event);
  void endThread();

  // Closes the document. Both files are complete then, and have no names yet.
  base::Result<void> complete();
  // Reads what was written, before it takes the place of what was there.
  base::Result<void> readBack(ScheduleSink& sink) const;
  // Completes the document, and gives it and its times their names. Times of an earlier
  // schedule of that name are removed.
  base::Result<void> finish();
  WrittenSchedule written() const;  // after complete()

 private:
  base::Result<void> timesCanBeWritten();
  // Writes out what was put together.
  void flush();
  // Ends a rank and begins the next one, and those between that did nothing.
  void beginRank(int next);
  void endFiles();

  const std::filesystem::path path_;  // without links in it, as both files are beside each other
  const bool is_output_;              // "-"
  ScheduleForm form_;
  base::DocumentFile file_;
  std::string text_;
  base::JsonWriter json_{text_};
  std::vector<std::string> locations_;
  EventJson<base::JsonWriter> event_json_{json_, locations_};
  int ranks_ = 0;
  int rank_ = -1;  // whose threads are being written
  bool first_thread_ = true;
  bool first_event_ = true;
  bool files_ended_ = false;
  // Of the compact form.
  std::vector<std::string> file_lines_;
  std::optional<TimesWriter> times_;
  std::uint64_t digest_place_ = 0;  // in the document
  LineSplitter line_;
  EventJson<LineSplitter> event_line_{line_, locations_};
  std::unique_ptr<CompactRanks> compact_;
  std::int64_t previous_end_ns_ = 0;
  std::uint64_t events_ = 0;
  bool is_complete_ = false;
};

}  // namespace omnio::model
