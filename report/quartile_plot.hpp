// A picture of times by size, as SVG, in the style of the figures (report/figures.hpp): quartiles
// that were measured, and lines that models give beside them. Both axes are logarithmic.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace omnio::report {

struct QuartilePlot {
  // Times in ns.
  struct Point {
    double bytes = 0;
    double least = 0;
    double quartile1 = 0;
    double median = 0;
    double quartile3 = 0;
    double most = 0;
    double mean = 0;
  };
  struct Line {
    std::string name;
    std::vector<std::pair<double, double>> points;  // bytes, ns
  };
  struct Panel {
    std::string name;
    std::vector<Point> points;  // by size
    std::vector<Line> lines;    // at most three are drawn; the same ones in each panel
  };

  std::string title;
  std::vector<Panel> panels;  // two side by side
};

std::string svgOf(const QuartilePlot& plot);

}  // namespace omnio::report
