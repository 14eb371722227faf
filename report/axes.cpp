#include "report/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace omnio::report {
namespace {

// "1.25", "20": as many digits as the step between ticks needs.
std::string tickText(double value, double step) {
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 6);
  return fmt::format("{:.{}f}", value, digits);
}

std::string withUnit(double value, const AxisUnit& unit) {
  const double number = value / unit.size;
  return number == std::floor(number) ? fmt::format("{:.0f} {}", number, unit.name)
                                      : fmt::format("{:.3g} {}", number, unit.name);
}

// The labels of every so many ticks, so that none touches the next one.
std::size_t labelledEach(const Scale& x, const std::vector<Tick>& ticks) {
  constexpr double kGap = 8;
  for (std::size_t each = 1;; ++each) {
    bool fits = true;
    for (std::size_t i = each; i < ticks.size(); i += each) {
      const double room = x.at(ticks[i].value) - x.at(ticks[i - each].value);
      const double half_widths = (textWidth(ticks[i].text) + textWidth(ticks[i - each].text)) / 2;
      fits = fits && room >= half_widths + kGap;
    }
    if (fits) return each;
  }
}

}  // namespace

std::string bytesText(double value) { return withUnit(value, unitFor(kByteUnits, value)); }
std::string timeText(double ns) { return withUnit(ns, unitFor(kTimeUnits, ns)); }

double niceStep(double span, double most_parts) {
  const double least = span / most_parts;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<Tick> niceTicks(double low, double high, double most_parts) {
  std::vector<Tick> ticks;
  const double step = niceStep(high - low, most_parts);
  if (!(step > 0)) return ticks;
  // The sum with 0 makes 0 of -0.
  const double first = std::ceil(low / step - 1e-9) + 0.0;
  const double count = std::floor((high - first * step) / step + 1e-6);
  for (double i = 0; i <= count && i <= 4 * most_parts; ++i) {
    const double value = (first + i) * step;
    ticks.push_back({value, tickText(value, step)});
  }
  return ticks;
}

double widest(const std::vector<Tick>& ticks) {
  double width = 0;
  for (const Tick& tick : ticks) width = std::max(width, textWidth(tick.text));
  return width;
}

void drawFrame(Svg& svg, const Frame& frame) {
  svg.add("rect", {{"x", svgNumber(frame.left)},
                   {"y", svgNumber(frame.top)},
                   {"width", svgNumber(frame.width)},
                   {"height", svgNumber(frame.height)},
                   {"fill", "none"},
                   {"stroke", std::string(kText)}});
}

void drawGrid(Svg& svg, const Frame& frame, const Scale& y, const std::vector<Tick>& ticks) {
  for (const Tick& tick : ticks) {
    const double at = y.at(tick.value);
    if (at > frame.top + 1 && at < frame.bottom() - 1) {
      svg.line(frame.left, at, frame.right(), at, kGrid);
    }
  }
}

void drawYAxis(Svg& svg, const Frame& frame, const Scale& y, const std::vector<Tick>& ticks,
               std::string_view title) {
  for (const Tick& tick : ticks) {
    const double at = y.at(tick.value);
    svg.line(frame.left - kTickLength, at, frame.left, at, kText);
    svg.text(frame.left - kTickLength - 3, at + 4.5, tick.text, Anchor::kEnd);
  }
  if (!title.empty()) svg.verticalText(14, frame.top + frame.height / 2, title);
}

void drawXAxis(Svg& svg, const Frame& frame, const Scale& x, const std::vector<Tick>& ticks,
               std::string_view title) {
  const std::size_t each = labelledEach(x, ticks);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double at = x.at(ticks[i].value);
    svg.line(at, frame.bottom(), at, frame.bottom() + kTickLength, kText);
    if (i % each != 0) continue;
    const double half = textWidth(ticks[i].text) / 2;
    svg.text(std::min(at, kWidth - half - 1), frame.bottom() + kTickLength + 13, ticks[i].text,
             Anchor::kMiddle);
  }
  svg.text(frame.left + frame.width / 2, frame.bottom() + kTickLength + 31, title, Anchor::kMiddle);
}

double leftOf(const std::vector<Tick>& ticks) { return 24 + widest(ticks) + kTickLength + 3; }

}  // namespace omnio::report
