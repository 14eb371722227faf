// A picture of quantities over time, or over a count, as SVG, in the style of the figures
// (report/figures.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace omnio::report {

struct PlotLine {
  std::string name;
  std::vector<std::optional<double>> values;  // by bin; none where there is nothing to show
};

struct LinePlot {
  std::string title;
  std::string value_axis;  // "hit ratio (%)"
  double most = 100;       // the end of that axis, which begins at 0
  double log_from = 0;  // not 0: the axis is logarithmic, begins there, and ends at a power of 10
  double bin = 1;       // the width of a bin, in units of the axis below
  std::string axis = "time (s)";
  bool is_sparse = false;       // many bins have no value: lines pass over these
  std::vector<PlotLine> lines;  // at most six are drawn
};

std::string svgOf(const LinePlot& plot);

}  // namespace omnio::report
