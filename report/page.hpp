// The pages of `omnio report`, `omnio compare`, `omnio diff` and `omnio predict`: one file that any
// browser shows, without a network.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace omnio::report {

// All pages have page.js, which draws the report and has the means to draw others. A comparison has
// comparison.js too, and a prediction both that and prediction.js.
enum class PageKind : std::uint8_t { kReport, kComparison, kPrediction };

// Puts the data, a JSON document, into the page. Its format says what the page draws.
std::string pageOf(PageKind kind, std::string_view data);

}  // namespace omnio::report
