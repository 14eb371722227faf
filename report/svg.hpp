// Writes a picture as SVG 1.1: shapes and real text, without scripts and without anything from
// elsewhere.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace omnio::report {

enum class Anchor { kStart, kMiddle, kEnd };

class Svg {
 public:
  // Lengths are in units of 0.25 mm.
  static constexpr double kUnitMm = 0.25;
  static constexpr double kFontSize = 13;
  using Attribute = std::pair<std::string_view, std::string>;
  using Attributes = std::vector<Attribute>;

  // `title` and `description` are for those who cannot see the picture.
  Svg(double width, double height, std::string_view title, std::string_view description);

  void begin(std::string_view tag, const Attributes& attributes = {});
  void end();
  void add(std::string_view tag, const Attributes& attributes);
  void line(double x1, double y1, double x2, double y2, std::string_view colour, double width = 1);
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::kStart,
            const Attributes& more = {});
  // From the bottom to the top, its middle at this point.
  void verticalText(double x, double y, std::string_view text);

  // The document. Nothing may be added after it.
  std::string finish();

 private:
  void open(std::string_view tag, const Attributes& attributes);

  std::string out_;
  std::vector<std::string> open_;
};

// With at most two digits after the point.
std::string svgNumber(double value);

// For an element or an attribute: any text, whatever bytes it has.
std::string xmlText(std::string_view text);

// About how wide the text is in units, in the widest of the fonts that may be used.
double textWidth(std::string_view text);
// Leaves out the middle where the text is wider.
std::string textWithin(std::string_view text, double width);

}  // namespace omnio::report
