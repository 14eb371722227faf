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
        svg_(kPlotWidth, kPlotHeight + more_rows_, plot.title,
             fmt::format("{} over {}", plot.value_axis, plot.axis)) {
    std::size_t bins = 1;
    for (const PlotLine& line : plot.lines) bins = std::max(bins, line.values.size());
    length_ = static_cast<double>(bins) * plot.bin;
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
  double x(double place) const {
    return kPlotLeft + place / length_ * (kPlotWidth - kPlotLeft - kPlotRight);
  }
  // From 0 at the begin of the axis to 1 at its end.
  double part(double value) const {
    if (plot_.log_from == 0) return value / plot_.most;
    return std::log10(std::max(value, plot_.log_from) / plot_.log_from) / decades();
  }
  double decades() const {
    return std::max(std::ceil(std::log10(plot_.most / plot_.log_from) - 1e-9), 1.0);
  }
  double y(double value) const { return yAt(part(value)); }
  double yAt(double part) const {
    const double bottom = kPlotHeight + more_rows_ - kPlotBottom;
    return bottom - part * (kPlotHeight - kPlotTop - kPlotBottom);
  }

  std::vector<double> valueTicks() const {
    std::vector<double> ticks;
    if (plot_.log_from > 0) {
      for (int i = 0; i <= static_cast<int>(decades()); ++i) {
        ticks.push_back(plot_.log_from * std::pow(10, i));
      }
      return ticks;
    }
    const double step = plotStep(plot_.most);
    for (double value = 0; value <= plot_.most * 1.001; value += step) ticks.push_back(value);
    return ticks;
  }

  // A wide one would reach the name of the axis.
  std::string valueText(double value) const {
    const bool is_short = value == 0 || (value >= 0.05 && value < 9999.5);
    return is_short || plot_.log_from == 0 ? fmt::format("{:.6g}", value)
                                           : fmt::format("1e{}", std::lround(std::log10(value)));
  }

  void axes() {
    for (const double value : valueTicks()) {
      svg_.line(kPlotLeft, y(value), kPlotWidth - kPlotRight, y(value), kGridColour);
      svg_.text(kPlotLeft - 8, y(value) + 4, valueText(value), Anchor::kEnd);
    }
    const double step = plotStep(length_);
    for (double place = 0; place <= length_ * 1.001; place += step) {
      svg_.line(x(place), yAt(0), x(place), yAt(0) + kTickSize, kAxisColour);
      svg_.text(x(place), yAt(0) + 18, fmt::format("{:.6g}", place), Anchor::kMiddle);
    }
    svg_.line(kPlotLeft, yAt(0), kPlotWidth - kPlotRight, yAt(0), kAxisColour);
    svg_.line(kPlotLeft, yAt(0), kPlotLeft, yAt(1), kAxisColour);
    svg_.text((kPlotLeft + kPlotWidth - kPlotRight) / 2, kPlotHeight + more_rows_ - 8, plot_.axis,
              Anchor::kMiddle);
    svg_.verticalText(14, (yAt(0) + yAt(1)) / 2, plot_.value_axis);
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

  // Bins without a value make gaps, unless these are passed over.
  void line(const PlotLine& line, const LineStyle& style) {
    std::string path;
    bool is_open = false;
    for (std::size_t i = 0; i < line.values.size(); ++i) {
      const std::optional<double>& value = line.values[i];
      if (!value) {
        is_open = false;
        continue;
      }
      if (plot_.is_sparse) {
        path += fmt::format("{}{} {}", path.empty() ? "M" : "L",
                            svgNumber(x((static_cast<double>(i) + 0.5) * plot_.bin)),
                            svgNumber(yAt(std::clamp(part(*value), 0.0, 1.0))));
        continue;
      }
      const double begin = x(static_cast<double>(i) * plot_.bin);
      const double end = x(static_cast<double>(i + 1) * plot_.bin);
      const double at = yAt(std::clamp(part(*value), 0.0, 1.0));
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
  double length_ = 1;  // of the axis below
};

}  // namespace

std::string svgOf(const LinePlot& plot) { return LineDrawing(plot).draw(); }

}  // namespace omnio::report
