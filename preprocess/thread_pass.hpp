// The second pass: the events of one thread as a schedule has them.
#pragma once

#include <cstdint>

#include "core/model/schedule_writer.hpp"
#include "preprocess/analysis.hpp"
#include "preprocess/size_scale.hpp"

namespace omnio::preprocess {

struct PassSettings {
  SizeScale size_scale{1};
  double time_scale = 1;
};

// Writes the events of the thread at `place` in `sources`; the caller begins and ends the thread.
// Returns how many events of the trace it wrote.
std::uint64_t writeThread(const SourceThreads& sources, std::uint32_t place, Analysis& analysis,
                          const PassSettings& settings, event::PathTable& paths,
                          model::ScheduleWriter& writer);

}  // namespace omnio::preprocess
