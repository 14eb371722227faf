// The paths of the accesses of a trace, for commands that show them.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/trace.hpp"
#include "predict/access_time/slow_paths.hpp"

namespace omnio::cli {

// Reads the trace three times. Fails with one sentence: a calibration that cannot be read or has
// too little in it, or is of another target or cache state than the trace.
base::Result<access_time::SlowPaths> slowPathsOf(const tracefile::Trace& trace,
                                                 const tracefile::Wholeness& wholeness,
                                                 const std::string& calibration);

}  // namespace omnio::cli
