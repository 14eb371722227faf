#include "report/line_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "report/svg.hpp"

namespace omnio::report {
namespace {

// In units of 0.25 mm, as of Svg.
constexpr double kPlotWidth = 640;
constexpr double kPlotHeight = 300;
constexpr double kPlotLeft = 56;
constexpr double kPlotRight = 16;
constexpr double kPlotTop = 52;  // the title and a row of the legend
constexpr double kLegendRow = 18;
constexpr double kLegendSample = 24;
constexpr double kPlotBottom = 44;
constexpr double kTickSize = 4;

constexpr std::string_view kAxisColour = "#1c2128";
constexpr std::string_view kGridColour = "#dfe3e8";

// They differ in lightness or in their dashes, so that they can be printed in grey.
struct LineStyle {
  std::string_view colour;
  std::string_view dashes;
};
constexpr std::array<LineStyle, 6> kLineStyles = {{{"#0072b2", ""},
                                                   {"#d55e00", "6 3"},
                                                   {"#009e73", "2 3"},
                                                   {"#cc79a7", "8 3 2 3"},
                                                   {"#785c00", "12 3"},
                                                   {"#8a9099", "1 2"}}};

// 1, 2 or 5 times a power of ten, so that there are some five ticks.
double plotStep(double most) {
  const double rough = std::max(most, 1e-9) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10 * power;
}

Svg::Attributes strokeOf(const LineStyle& style, double width) {
  Svg::Attributes stroke = {
      {"fill", "none"}, {"stroke", std::string(style.colour)}, {"stroke-width", svgNumber(width)}};
  if (!style.dashes.empty()) stroke.emplace_back("stroke-dasharray", std::string(style.dashes));
  return stroke;
}

struct LegendPlace {
  double left = 0;
  std::size_t row = 0;
};

double legendWidth(std::string_view name) { return kLegendSample + 5 + textWidth(name); }

// Entries from left to right, in as many rows as they take.
std::vector<LegendPlace> legendOf(const std::vector<PlotLine>& lines) {
  constexpr double kGap = 18;
  std::vector<LegendPlace> places;
  LegendPlace next{.left = kPlotLeft};
  for (std::size_t i = 0; i < std::min(lines.size(), kLineStyles.size()); ++i) {
    const double width = legendWidth(lines[i].name);
    const bool is_first = next.left == kPlotLeft;
    if (!is_first && next.left + width > kPlotWidth - kPlotRight) {
      next = {.left = kPlotLeft, .row = next.row + 1};
    }
    places.push_back(next);
    next.left += width + kGap;
  }
  return places;
}

class LineDrawing {
 public:
  explicit LineDrawing(const LinePlot& plot)
      : plot_(plot),
        legend_(legendOf(plot.lines)),
        more_rows_(legend_.empty() ? 0 : kLegendRow * static_cast<double>(legend_.back().row)),
        svg_(kPlotWidth, kPlotHeight + more_rows_, plot.title, plot.value_axis + " over time") {
    std::size_t bins = 1;
    for (const PlotLine& line : plot.lines) bins = std::max(bins, line.values.size());
    seconds_ = static_cast<double>(bins) * plot.bin_s;
  }

  std::string draw() {
    svg_.text(kPlotLeft, 18, plot_.title);
    axes();
    for (std::size_t i = 0; i < legend_.size(); ++i) {
      legend(plot_.lines[i].name, kLineStyles[i], legend_[i]);
      line(plot_.lines[i], kLineStyles[i]);
    }
    return svg_.finish();
  }

 private:
  double x(double seconds) const {
    return kPlotLeft + seconds / seconds_ * (kPlotWidth - kPlotLeft - kPlotRight);
  }
  double y(double value) const {
    const double bottom = kPlotHeight + more_rows_ - kPlotBottom;
    return bottom - value / plot_.most * (kPlotHeight - kPlotTop - kPlotBottom);
  }

  void axes() {
    const double value_step = plotStep(plot_.most);
    for (double value = 0; value <= plot_.most * 1.001; value += value_step) {
      svg_.line(kPlotLeft, y(value), kPlotWidth - kPlotRight, y(value), kGridColour);
      svg_.text(kPlotLeft - 8, y(value) + 4, svgNumber(value), Anchor::kEnd);
    }
    const double step = plotStep(seconds_);
    for (double seconds = 0; seconds <= seconds_ * 1.001; seconds += step) {
      svg_.line(x(seconds), y(0), x(seconds), y(0) + kTickSize, kAxisColour);
      svg_.text(x(seconds), y(0) + 18, fmt::format("{:.6g}", seconds), Anchor::kMiddle);
    }
    svg_.line(kPlotLeft, y(0), kPlotWidth - kPlotRight, y(0), kAxisColour);
    svg_.line(kPlotLeft, y(0), kPlotLeft, y(plot_.most), kAxisColour);
    svg_.text((kPlotLeft + kPlotWidth - kPlotRight) / 2, kPlotHeight + more_rows_ - 8, "time (s)",
              Anchor::kMiddle);
    svg_.verticalText(14, (y(0) + y(plot_.most)) / 2, plot_.value_axis);
  }

  void legend(std::string_view name, const LineStyle& style, const LegendPlace& place) {
    const double y = 34 + kLegendRow * static_cast<double>(place.row);
    Svg::Attributes path = strokeOf(style, 2);
    path.emplace_back("d", fmt::format("M{} {}H{}", svgNumber(place.left), svgNumber(y),
                                       svgNumber(place.left + kLegendSample)));
    svg_.add("path", path);
    const double room = kPlotWidth - place.left - kLegendSample - 5;
    svg_.text(place.left + kLegendSample + 5, y + 4, textWithin(name, room));
  }

  // Bins without a value make gaps.
  void line(const PlotLine& line, const LineStyle& style) {
    std::string path;
    bool is_open = false;
    for (std::size_t i = 0; i < line.values.size(); ++i) {
      const std::optional<double>& value = line.values[i];
      if (!value) {
        is_open = false;
        continue;
      }
      const double begin = x(static_cast<double>(i) * plot_.bin_s);
      const double end = x(static_cast<double>(i + 1) * plot_.bin_s);
      const double at = y(std::clamp(*value, 0.0, plot_.most));
      path += fmt::format("{}{} {}H{}", is_open ? "L" : "M", svgNumber(begin), svgNumber(at),
                          svgNumber(end));
      is_open = true;
    }
    if (path.empty()) return;
    Svg::Attributes attributes = strokeOf(style, 1.5);
    attributes.emplace_back("d", path);
    svg_.add("path", attributes);
  }

  const LinePlot& plot_;
  const std::vector<LegendPlace> legend_;
  const double more_rows_;  // of the legend, beside the first
  Svg svg_;
  double seconds_ = 1;
};

}  // namespace

std::string svgOf(const LinePlot& plot) { return LineDrawing(plot).draw(); }

}  // namespace omnio::report
