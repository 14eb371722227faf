// A scaled schedule while it is made: lines of events first, and the files that they name at the
// end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/document_file.hpp"
#include "core/base/interruption.hpp"
#include "core/base/result.hpp"
#include "core/model/schedule.hpp"
#include "core/model/schedule_writer.hpp"

namespace omnio::preprocess::scale {

class ScaledDocument {
 public:
  // `path`: of the schedule. What is needed until it is complete lies beside it.
  explicit ScaledDocument(std::filesystem::path path);
  ~ScaledDocument();

  // Threads by rank and number; ranks without threads may be left out.
  void beginThread(const model::ScheduleThread& thread);
  void event(std::string_view line);
  void endThread();
  // Whether a line could not be written: finish() says why.
  bool failed() const { return ranks_.failed(); }
  // Writes the schedule in that form, and gives it its name. Fails where it is not one that a
  // reader takes.
  base::Result<model::WrittenSchedule> finish(const model::ScheduleGlobal& global,
                                              const std::vector<model::ScheduleFile>& files,
                                              model::ScheduleForm form);

 private:
  std::filesystem::path path_;
  std::filesystem::path ranks_path_;
  std::filesystem::path draft_path_;
  base::RemovedIfInterrupted removed_ranks_;
  base::RemovedIfInterrupted removed_draft_;
  base::DocumentFile ranks_;
  int rank_ = -1;
  bool is_first_thread_ = true;
  bool is_first_event_ = true;
};

// Calls `take` with the key and the bytes of each name of a file in the line of an event.
void forEachName(std::string_view line,
                 const std::function<void(std::string_view key, const std::string& name)>& take);

}  // namespace omnio::preprocess::scale
