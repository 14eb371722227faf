#include "report/quartile_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "report/axes.hpp"

namespace omnio::report {
namespace {

constexpr double kPanelHeight = 190;
constexpr double kPanelGap = 18;
constexpr double kPanelTitle = 24;
constexpr double kBoxWidth = 6;

// They differ in their dashes, so that they can be printed in grey.
struct ModelStyle {
  std::string_view colour;
  std::string_view dashes;
};
constexpr std::array<ModelStyle, 3> kModelStyles = {
    {{"#d55e00", ""}, {"#785c00", "6 3"}, {"#1c2128", "2 3"}}};

class QuartileDrawing {
 public:
  explicit QuartileDrawing(const QuartilePlot& plot)
      : plot_(plot), svg_(kWidth, heightOf(plot), plot.title, descriptionOf(plot)) {
    bool any = false;
    for (const QuartilePlot::Panel& panel : plot.panels) {
      for (const QuartilePlot::Point& point : panel.points) {
        const double size = std::log2(std::max(point.bytes, 1.0));
        const double low = std::log10(std::max(point.least, 1.0));
        const double high = std::log10(std::max(point.most, 1.0));
        low_size_ = any ? std::min(low_size_, size) : size;
        high_size_ = any ? std::max(high_size_, size) : size;
        low_time_ = any ? std::min(low_time_, low) : low;
        high_time_ = any ? std::max(high_time_, high) : high;
        any = true;
      }
    }
    low_time_ = std::floor(low_time_);
    high_time_ = std::max(std::ceil(high_time_), low_time_ + 1);
    for (double power = low_time_; power <= high_time_; ++power) {
      time_ticks_.push_back({power, timeText(std::pow(10, power))});
    }
    constexpr double kEach = 5;  // of powers of two
    for (double power = std::ceil(low_size_ / kEach) * kEach; power <= high_size_; power += kEach) {
      size_ticks_.push_back({power, bytesText(std::exp2(power))});
    }
  }

  std::string draw() {
    svg_.text(leftOf(time_ticks_), 18, textWithin(plot_.title, kWidth - leftOf(time_ticks_)));
    drawLegend();
    for (std::size_t i = 0; i < plot_.panels.size(); ++i) drawPanel(i);
    return svg_.finish();
  }

 private:
  static constexpr double kTop = 60;  // the title and the legend

  static double heightOf(const QuartilePlot& plot) {
    const auto rows = static_cast<double>((plot.panels.size() + 1) / 2);
    return kTop + rows * (kPanelTitle + kPanelHeight) + kBottom;
  }

  // The numbers, for those who cannot see the picture.
  static std::string descriptionOf(const QuartilePlot& plot) {
    std::string text = "Access times by size: least, quartiles and most, and the mean.";
    for (const QuartilePlot::Panel& panel : plot.panels) {
      text += fmt::format("\n{}:", panel.name);
      for (const QuartilePlot::Point& point : panel.points) {
        text +=
            fmt::format("\n{}: {}, {}, {}, {}, {}; mean {}", bytesText(point.bytes),
                        timeText(point.least), timeText(point.quartile1), timeText(point.median),
                        timeText(point.quartile3), timeText(point.most), timeText(point.mean));
        for (const QuartilePlot::Line& line : panel.lines) {
          for (const auto& [bytes, ns] : line.points) {
            if (bytes == point.bytes) text += fmt::format("; {} {}", line.name, timeText(ns));
          }
        }
      }
    }
    return text;
  }

  Frame frameOf(std::size_t i) const {
    const double left = leftOf(time_ticks_);
    const double width = (kWidth - kRight - left - kPanelGap) / 2;
    return {.left = left + (i % 2 == 0 ? 0 : width + kPanelGap),
            .top = kTop + kPanelTitle + static_cast<double>(i / 2) * (kPanelTitle + kPanelHeight),
            .width = width,
            .height = kPanelHeight};
  }

  void box(double x, double y, double width, double height) {
    svg_.add("rect", {{"x", svgNumber(x)},
                      {"y", svgNumber(y)},
                      {"width", svgNumber(width)},
                      {"height", svgNumber(std::max(height, 0.5))},
                      {"fill", std::string(kRead)},
                      {"fill-opacity", "0.3"},
                      {"stroke", std::string(kRead)},
                      {"stroke-width", "0.75"}});
  }
  void cross(double x, double y) {
    svg_.line(x - 2.5, y - 2.5, x + 2.5, y + 2.5, kText);
    svg_.line(x - 2.5, y + 2.5, x + 2.5, y - 2.5, kText);
  }
  void path(const std::string& data, const ModelStyle& style) {
    Svg::Attributes attributes = {{"d", data},
                                  {"fill", "none"},
                                  {"stroke", std::string(style.colour)},
                                  {"stroke-width", "1.5"}};
    if (!style.dashes.empty()) attributes.emplace_back("stroke-dasharray", style.dashes);
    svg_.add("path", attributes);
  }

  void drawLegend() {
    constexpr double kY = 38, kSample = 22, kGap = 14;
    double x = leftOf(time_ticks_);
    const auto name = [&](std::string_view text, double sample) {
      svg_.text(x + sample + 5, kY + 4.5, textWithin(text, kWidth - x - sample - 5));
      x += sample + 5 + textWidth(text) + kGap;
    };
    svg_.line(x + kBoxWidth / 2, kY - 9, x + kBoxWidth / 2, kY + 9, kQuiet);
    box(x, kY - 5, kBoxWidth, 10);
    svg_.line(x, kY, x + kBoxWidth, kY, kRead, 1.5);
    name("least, quartiles, most", kBoxWidth);
    cross(x + 3, kY);
    name("mean", 6);
    if (plot_.panels.empty() || plot_.panels.front().lines.empty()) return;
    svg_.text(x, kY + 4.5, "predicted:");
    x += textWidth("predicted:") + kGap;
    const std::vector<QuartilePlot::Line>& lines = plot_.panels.front().lines;
    for (std::size_t i = 0; i < std::min(lines.size(), kModelStyles.size()); ++i) {
      path(fmt::format("M{} {}h{}", svgNumber(x), svgNumber(kY), svgNumber(kSample)),
           kModelStyles[i]);
      name(lines[i].name, kSample);
    }
  }

  void drawPanel(std::size_t i) {
    const QuartilePlot::Panel& panel = plot_.panels[i];
    const Frame frame = frameOf(i);
    // Boxes at the ends lie within the frame.
    const Scale x{low_size_, std::max(high_size_, low_size_ + 1), frame.left + kBoxWidth,
                  frame.right() - kBoxWidth};
    const Scale y{low_time_, high_time_, frame.bottom(), frame.top};
    const auto x_of = [&](double bytes) { return x.at(std::log2(std::max(bytes, 1.0))); };
    const auto y_of = [&](double ns) {
      return std::clamp(y.at(std::log10(std::max(ns, 1.0))), frame.top, frame.bottom());
    };
    drawGrid(svg_, frame, y, time_ticks_);
    for (const QuartilePlot::Point& point : panel.points) {
      const double at = x_of(point.bytes);
      svg_.line(at, y_of(point.most), at, y_of(point.least), kQuiet);
      box(at - kBoxWidth / 2, y_of(point.quartile3), kBoxWidth,
          y_of(point.quartile1) - y_of(point.quartile3));
      svg_.line(at - kBoxWidth / 2, y_of(point.median), at + kBoxWidth / 2, y_of(point.median),
                kRead, 1.5);
      cross(at, y_of(point.mean));
    }
    for (std::size_t of = 0; of < std::min(panel.lines.size(), kModelStyles.size()); ++of) {
      std::string data;
      for (const auto& [bytes, ns] : panel.lines[of].points) {
        data += fmt::format("{}{} {}", data.empty() ? "M" : "L", svgNumber(x_of(bytes)),
                            svgNumber(y_of(ns)));
      }
      if (!data.empty()) path(data, kModelStyles[of]);
    }
    drawFrame(svg_, frame);
    svg_.text(frame.left, frame.top - 6, panel.name);
    if (panel.points.empty()) {
      svg_.text(frame.left + frame.width / 2, frame.top + frame.height / 2, "not measured",
                Anchor::kMiddle, {{"fill", std::string(kQuiet)}});
    }
    if (i % 2 == 0) drawYAxis(svg_, frame, y, time_ticks_, "Access time");
    if (i + 2 >= plot_.panels.size()) drawXAxis(svg_, frame, x, size_ticks_, "Size");
  }

  const QuartilePlot& plot_;
  Svg svg_;
  double low_size_ = 0, high_size_ = 1;  // logarithms to base 2
  double low_time_ = 0, high_time_ = 1;  // to base 10
  std::vector<Tick> time_ticks_, size_ticks_;
};

}  // namespace

std::string svgOf(const QuartilePlot& plot) { return QuartileDrawing(plot).draw(); }

}  // namespace omnio::report
