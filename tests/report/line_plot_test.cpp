#include "report/line_plot.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "report/svg.hpp"

namespace omnio::report {
namespace {

constexpr double kWidth = 640;

struct DrawnText {
  double x = 0;
  double y = 0;
  std::string text;
};

double numberBehind(const std::string& svg, const std::string& name, std::size_t from) {
  return std::strtod(svg.c_str() + svg.find(name, from) + name.size(), nullptr);
}

// Texts that begin at their x: not those that end there or have their middle there.
std::vector<DrawnText> textsOf(const std::string& svg) {
  std::vector<DrawnText> found;
  for (std::size_t at = svg.find("<text "); at != std::string::npos;
       at = svg.find("<text ", at + 1)) {
    const std::size_t begin = svg.find('>', at) + 1;
    if (svg.substr(at, begin - at).find("text-anchor") != std::string::npos) continue;
    found.push_back({.x = numberBehind(svg, "x=\"", at),
                     .y = numberBehind(svg, "y=\"", at),
                     .text = svg.substr(begin, svg.find("</text>", begin) - begin)});
  }
  return found;
}

LinePlot plotOf(const std::vector<std::string>& names) {
  LinePlot plot{.title = "Hit ratio", .value_axis = "hit ratio (%)", .lines = {}};
  for (const std::string& name : names) plot.lines.push_back({.name = name, .values = {50, 60}});
  return plot;
}

TEST(LinePlot, LegendStaysWithinThePicture) {
  // The names that omnio predict gives, and two that no row has room for.
  const std::vector<std::vector<std::string>> sets = {
      {"grammar", "same as last", "contiguous", "same distance", "access patterns",
       "kernel's read-ahead"},
      {std::string(120, 'W'), "short", std::string(60, 'W'), "a", "b"},
      {"one"}};
  for (const std::vector<std::string>& names : sets) {
    const std::vector<DrawnText> texts = textsOf(svgOf(plotOf(names)));
    ASSERT_EQ(texts.size(), names.size() + 1);  // the title
    for (const DrawnText& text : texts) {
      EXPECT_LE(text.x + textWidth(text.text), kWidth) << text.text;
    }
    for (std::size_t i = 2; i < texts.size(); ++i) {
      const DrawnText& before = texts[i - 1];
      const bool is_below = texts[i].y > before.y;
      EXPECT_TRUE(is_below || texts[i].x > before.x + textWidth(before.text)) << texts[i].text;
    }
  }
}

TEST(LinePlot, ThePictureGrowsByTheRowsOfItsLegend) {
  const auto heightOf = [](const std::string& svg) {
    return numberBehind(svg, "viewBox=\"0 0 640 ", 0);
  };
  EXPECT_EQ(heightOf(svgOf(plotOf({"one", "two"}))), 300);
  EXPECT_EQ(heightOf(svgOf(plotOf({std::string(40, 'W'), "two", "three"}))), 318);
}

std::vector<std::string> valuesOf(const LinePlot& plot) {
  const std::string svg = svgOf(plot);
  std::vector<std::string> found;
  const std::string mark = "text-anchor=\"end\">";
  for (std::size_t at = svg.find(mark); at != std::string::npos; at = svg.find(mark, at + 1)) {
    const std::size_t begin = at + mark.size();
    found.push_back(svg.substr(begin, svg.find('<', begin) - begin));
  }
  return found;
}

// Each text of the picture but the vertical one, which is in the room left of 24 units.
TEST(LinePlot, EveryTextIsWithinThePictureAndBesideTheAxis) {
  LinePlot plot = plotOf({"grammar", "same as last"});
  plot.axis = "operations of a thread";
  plot.bin = 1'234'567;
  for (const double log_from : {0.0, 1e-7, 0.001}) {
    plot.log_from = log_from;
    for (const double most : {0.5, 1.0, 37.0, 4096.0}) {
      plot.most = most;
      const std::string svg = svgOf(plot);
      for (std::size_t at = svg.find("<text "); at != std::string::npos;
           at = svg.find("<text ", at + 1)) {
        const std::size_t begin = svg.find('>', at) + 1;
        const std::string head = svg.substr(at, begin - at);
        if (head.find("rotate") != std::string::npos) continue;
        const std::string text = svg.substr(begin, svg.find('<', begin) - begin);
        const double width = textWidth(text);
        double left = numberBehind(svg, "x=\"", at);
        if (head.find("\"end\"") != std::string::npos) left -= width;
        if (head.find("\"middle\"") != std::string::npos) left -= width / 2;
        EXPECT_GE(left, 14) << text << " of " << most << " from " << log_from;
        EXPECT_LE(left + width, kWidth) << text;
      }
    }
  }
}

TEST(LinePlot, ALogarithmicAxisHasPowersOfTen) {
  LinePlot plot = plotOf({"one"});
  EXPECT_EQ(valuesOf(plot), (std::vector<std::string>{"0", "20", "40", "60", "80", "100"}));
  plot.log_from = 0.01;
  plot.most = 20'000;
  EXPECT_EQ(valuesOf(plot),
            (std::vector<std::string>{"1e-2", "0.1", "1", "10", "100", "1000", "1e4", "1e5"}));
  for (const std::string& text : valuesOf(plot)) EXPECT_LT(textWidth(text), 56 - 8 - 14) << text;
}

// Four bins of 142 units each, and 204 units for 100 % above 256.
TEST(LinePlot, BinsWithoutAValueAreGapsOrPassedOver) {
  LinePlot plot{.title = "A", .value_axis = "b", .bin = 1, .axis = "c", .lines = {}};
  plot.lines = {{.name = "one", .values = {50, std::nullopt, 75, std::nullopt}}};
  EXPECT_NE(svgOf(plot).find("d=\"M56 154H198M340 103H482\""), std::string::npos) << svgOf(plot);
  plot.is_sparse = true;
  EXPECT_NE(svgOf(plot).find("d=\"M127 154L411 103\""), std::string::npos) << svgOf(plot);
}

}  // namespace
}  // namespace omnio::report
