// Writes a schedule again, in another form.
#pragma once

#include <filesystem>

#include "core/base/result.hpp"
#include "core/model/schedule_writer.hpp"

namespace omnio::model {

// Reads `from` and writes `to`, which may have the same name. What it says stays the same; blanks,
// the order of files and comments do not. On failure `to` stays as it was.
base::Result<void> rewriteSchedule(const std::filesystem::path& from,
                                   const std::filesystem::path& to, ScheduleForm form);

}  // namespace omnio::model
