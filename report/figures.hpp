// Pictures for papers, as SVG, of the data of the report page. They are 160 mm wide, with text of
// 3.25 mm, so that they can be read at half that width too. Colours are those of the page and
// differ in lightness or by a pattern where they mean different things, so that they can be printed
// in grey.
#pragma once
#include <string>
#include <vector>

#include "report/page_data.hpp"

namespace omnio::report {

struct Figure {
  std::string name;  // of its file: "bandwidth.svg"
  std::string svg;
};

// bandwidth.svg, heatmap.svg, sizes.svg and times.svg; and offsets.svg of the file that moved most
// bytes, offsets-2.svg of the next one, and so on. Figures without data say so.
std::vector<Figure> figuresOf(const PageData& data);

}  // namespace omnio::report
