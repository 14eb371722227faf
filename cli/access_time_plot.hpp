// The picture of a calibration, for commands that draw one.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "predict/access_time/access_times.hpp"

namespace omnio::cli {

// Access times by size, of reads and writes by one process, with what the models predict of rounds
// that they have not seen.
base::Result<void> writeAccessTimePlot(const std::string& path,
                                       const predict::Calibration& calibration,
                                       const std::vector<access_time::ModelErrors>& errors);

}  // namespace omnio::cli
