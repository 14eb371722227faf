// The global access pattern of an application: offset, tick and process in three dimensions, and
// its three projections, after figures 5, 7, 9 and 10 of Mendez, Rexachs and Luque. It is drawn
// from the phase model alone, without anything of time, host, path or device, so that it is the
// same picture on every storage system.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"

namespace omnio::report {

// Request runs that are drawn. Of more, each phase keeps one process in so many, and the picture
// says so.
inline constexpr std::size_t kMaxDrawnRuns = 1000;

// An SVG document. Fails with a sentence where no phase has ticks and offsets.
base::Result<std::string> globalPatternOf(const model::PhaseModel& model);

}  // namespace omnio::report
