// The curves of `omnio predict` as pictures, and the data of its page.
#pragma once
#include <string>
#include <vector>

#include "predict/operations/prediction.hpp"
#include "report/figures.hpp"

namespace omnio::cli {

// hit-ratio.svg first, then contexts.svg, next-contexts.svg, grammar.svg, size-error.svg and
// gaps.svg.
std::vector<report::Figure> figuresOf(const predict::Prediction& prediction);

// The document of `omnio predict --json`, with the first lines of each list alone.
std::string pageDataOf(predict::Prediction prediction);

}  // namespace omnio::cli
