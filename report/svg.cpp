#include "report/svg.hpp"

#include <fmt/format.h>

#include <array>

#include "core/base/printable.hpp"

namespace omnio::report {
namespace {

constexpr std::string_view kFonts =
    "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";

// The widths of ' ' to '~', in thousandths of the size of the font (Adobe's metrics of Helvetica).
constexpr std::array<int, 95> kWidths = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};

// DejaVu Sans, which stands in for Helvetica where that is not installed, is so much wider.
constexpr double kWidest = 1.14;

bool isWithinCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string svgNumber(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string xmlText(std::string_view text) {
  std::string out;
  const std::string safe = base::safeText(text);
  for (std::size_t i = 0; i < safe.size(); ++i) {
    // U+FFFE and U+FFFF are not characters of XML.
    if (safe.compare(i, 2, "\xEF\xBF") == 0 && i + 2 < safe.size() &&
        static_cast<unsigned char>(safe[i + 2]) >= 0xBE) {
      out += "\xEF\xBF\xBD";
      i += 2;
      continue;
    }
    switch (safe[i]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += safe[i];
    }
  }
  return out;
}

double textWidth(std::string_view text) {
  int sum = 0;
  for (const char c : text) {
    if (isWithinCharacter(c)) continue;
    const int index = c - ' ';
    // Others are as wide as most capital letters, or wider in Chinese or Japanese.
    sum += index >= 0 && index < static_cast<int>(kWidths.size())
               ? kWidths[static_cast<std::size_t>(index)]
               : (static_cast<unsigned char>(c) >= 0xE2 ? 1000 : 667);
  }
  return sum / 1000.0 * kWidest * Svg::kFontSize;
}

std::string textWithin(std::string_view text, double width) {
  if (textWidth(text) <= width) return std::string(text);
  std::size_t head = text.size() / 3;
  std::size_t tail = head + 1;
  std::string cut;
  // The end of a path says most.
  for (std::size_t kept = text.size(); kept > 0; --kept) {
    head = kept / 3;
    tail = text.size() - (kept - head);
    while (head > 0 && isWithinCharacter(text[head])) --head;
    while (tail < text.size() && isWithinCharacter(text[tail])) ++tail;
    cut = std::string(text.substr(0, head)) + "..." + std::string(text.substr(tail));
    if (textWidth(cut) <= width) break;
  }
  return cut;
}

Svg::Svg(double width, double height, std::string_view title, std::string_view description) {
  out_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
               {"width", svgNumber(width * kUnitMm) + "mm"},
               {"height", svgNumber(height * kUnitMm) + "mm"},
               {"viewBox", fmt::format("0 0 {} {}", svgNumber(width), svgNumber(height))},
               {"role", "img"},
               {"font-family", std::string(kFonts)},
               {"font-size", svgNumber(kFontSize)},
               {"fill", "#1c2128"}});
  out_ += ">\n<title>" + xmlText(title) + "</title>\n<desc>" + xmlText(description) + "</desc>\n";
  open_.emplace_back("svg");
  add("rect", {{"width", svgNumber(width)}, {"height", svgNumber(height)}, {"fill", "#ffffff"}});
}

void Svg::open(std::string_view tag, const Attributes& attributes) {
  out_ += '<';
  out_ += tag;
  for (const auto& [name, value] : attributes) {
    out_ += ' ';
    out_ += name;
    out_ += "=\"" + xmlText(value) + '"';
  }
}

void Svg::begin(std::string_view tag, const Attributes& attributes) {
  open(tag, attributes);
  out_ += ">\n";
  open_.emplace_back(tag);
}

void Svg::end() {
  out_ += "</" + open_.back() + ">\n";
  open_.pop_back();
}

void Svg::add(std::string_view tag, const Attributes& attributes) {
  open(tag, attributes);
  out_ += "/>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view colour, double width) {
  add("line", {{"x1", svgNumber(x1)},
               {"y1", svgNumber(y1)},
               {"x2", svgNumber(x2)},
               {"y2", svgNumber(y2)},
               {"stroke", std::string(colour)},
               {"stroke-width", svgNumber(width)}});
}

void Svg::text(double x, double y, std::string_view text, Anchor anchor, const Attributes& more) {
  Attributes attributes = {{"x", svgNumber(x)}, {"y", svgNumber(y)}};
  if (anchor == Anchor::kMiddle) attributes.emplace_back("text-anchor", "middle");
  if (anchor == Anchor::kEnd) attributes.emplace_back("text-anchor", "end");
  attributes.insert(attributes.end(), more.begin(), more.end());
  open("text", attributes);
  out_ += '>' + xmlText(text) + "</text>\n";
}

void Svg::verticalText(double x, double y, std::string_view words) {
  text(x, y, words, Anchor::kMiddle,
       {{"transform", fmt::format("rotate(-90 {} {})", svgNumber(x), svgNumber(y))}});
}

std::string Svg::finish() {
  while (!open_.empty()) end();
  return std::move(out_);
}

}  // namespace omnio::report
