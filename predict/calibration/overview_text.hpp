// A calibration as it is shown on a terminal.
#pragma once

#include <string>

#include "predict/calibration/document.hpp"

namespace omnio::predict {

// Tables of the medians, and which cells were not reached: a line for each reason.
std::string overviewText(const Calibration& calibration);

}  // namespace omnio::predict
