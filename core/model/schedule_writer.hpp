// Writes a schedule as a stream, an event a line. It appears under its name only when complete.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/document_file.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/model/schedule.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::model {

class ScheduleWriter {
 public:
  // Without finish(), nothing is left.
  explicit ScheduleWriter(std::filesystem::path path);

  // In the order of ScheduleSink. Errors are kept for finish().
  void global(const ScheduleGlobal& global);
  void file(const ScheduleFile& file);
  void beginThread(const ScheduleThread& thread);
  void event(const ScheduleEvent& event);
  void endThread() { file_.write("]}"); }

  // Closes the document and gives it its name.
  base::Result<void> finish();

 private:
  // Writes out what was put together.
  void flush();
  // Ends a rank and begins the next one, and those between that did nothing.
  void beginRank(int next);
  void putLocation(std::string_view name, FileNumber number);
  void putName(std::string_view key, const ScheduleEvent& event, FileNumber number);
  void putDirectory(std::string_view key, Descriptor directory);
  void putLookups(std::string_view key, std::uint16_t lookups);
  void putArgument(const ScheduleEvent& event, const ScheduleKey& item);
  void putCall(const ScheduleEvent& event);
  void putWork(const Work& work);
  void putWait(const Wait& wait);
  void putResult(const ScheduleEvent& event);

  base::DocumentFile file_;
  std::string text_;
  base::JsonWriter json_{text_};
  std::vector<std::string> locations_;
  int ranks_ = 0;
  int rank_ = -1;  // whose threads are being written
  bool first_thread_ = true;
  bool first_event_ = true;
};

}  // namespace omnio::model
