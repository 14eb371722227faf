// Axes of the pictures: where values are on the paper, ticks, frames and grids.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/svg.hpp"

namespace omnio::report {

// In units of 0.25 mm, as of Svg.
inline constexpr double kWidth = 640;
inline constexpr double kRight = 16;
inline constexpr double kBottom = 44;  // ticks, their labels and the title of the axis
inline constexpr double kTickLength = 4;
inline constexpr double kLineHeight = 17;

inline constexpr std::string_view kText = "#1c2128";
inline constexpr std::string_view kQuiet = "#57606a";
inline constexpr std::string_view kGrid = "#dfe3e8";
inline constexpr std::string_view kRead = "#0072b2";
inline constexpr std::string_view kWrite = "#d55e00";
inline constexpr std::string_view kMetadata = "#009e73";
inline constexpr std::string_view kSync = "#cc79a7";
inline constexpr std::string_view kBands[] = {"#e4e7eb", "#f1f3f5"};  // of phases, by turns

struct AxisUnit {
  double size;
  std::string_view name;
};
inline constexpr AxisUnit kByteUnits[] = {{0x1p60, "EiB"}, {0x1p50, "PiB"}, {0x1p40, "TiB"},
                                          {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"},
                                          {1, "B"}};
inline constexpr AxisUnit kTimeUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};

template <std::size_t N>
const AxisUnit& unitFor(const AxisUnit (&units)[N], double most) {
  for (const AxisUnit& unit : units) {
    if (most >= unit.size) return unit;
  }
  return units[N - 1];
}

std::string bytesText(double value);
std::string timeText(double ns);

// The step of 1, 2 or 5 times a power of ten that makes at most so many parts.
double niceStep(double span, double most_parts);

// Where values are on the paper.
struct Scale {
  double low = 0;
  double high = 1;
  double at_low = 0;
  double at_high = 1;

  double at(double value) const {
    return at_low + (value - low) / (high - low) * (at_high - at_low);
  }
};

struct Frame {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

struct Tick {
  double value = 0;
  std::string text;
};

std::vector<Tick> niceTicks(double low, double high, double most_parts);
double widest(const std::vector<Tick>& ticks);
// Left of a frame whose y axis has these ticks and a title.
double leftOf(const std::vector<Tick>& ticks);

void drawFrame(Svg& svg, const Frame& frame);
void drawGrid(Svg& svg, const Frame& frame, const Scale& y, const std::vector<Tick>& ticks);
// The title is at the left edge of the picture; empty: it has none of its own.
void drawYAxis(Svg& svg, const Frame& frame, const Scale& y, const std::vector<Tick>& ticks,
               std::string_view title);
// With the labels of every so many ticks, so that none touches the next one.
void drawXAxis(Svg& svg, const Frame& frame, const Scale& x, const std::vector<Tick>& ticks,
               std::string_view title);

}  // namespace omnio::report
