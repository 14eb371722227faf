#include "report/page.hpp"

#include <array>
#include <utility>

// The assembler looks for the files in report/page (CMakeLists.txt).
#define OMNIO_ASSET(name, file)                                             \
  __asm__(                                                                  \
      ".pushsection .rodata,\"a\",%progbits\n"                              \
      ".hidden omnio_asset_" #name                                          \
      "\n"                                                                  \
      ".hidden omnio_asset_" #name                                          \
      "_end\n"                                                              \
      ".global omnio_asset_" #name                                          \
      "\n"                                                                  \
      ".global omnio_asset_" #name                                          \
      "_end\n"                                                              \
      "omnio_asset_" #name                                                  \
      ":\n"                                                                 \
      ".incbin \"" file                                                     \
      "\"\n"                                                                \
      "omnio_asset_" #name                                                  \
      "_end:\n"                                                             \
      ".byte 0\n"                                                           \
      ".popsection\n");                                                     \
  extern "C" [[gnu::visibility("hidden")]] const char omnio_asset_##name[]; \
  extern "C" [[gnu::visibility("hidden")]] const char omnio_asset_##name##_end[]

OMNIO_ASSET(html, "page.html");
OMNIO_ASSET(css, "page.css");
OMNIO_ASSET(script, "page.js");
OMNIO_ASSET(comparison, "comparison.js");
OMNIO_ASSET(definitions, "definitions.json");
OMNIO_ASSET(prediction, "prediction.js");
OMNIO_ASSET(echarts, "vendor/echarts.js");

namespace omnio::report {
namespace {

std::string_view asset(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

// Within a script, "</script>" in a text would end it.
std::string withoutTags(std::string_view data) {
  std::string text;
  text.reserve(data.size());
  for (const char c : data) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string pageOf(PageKind kind, std::string_view data) {
  const std::string safe = withoutTags(data);
  std::string more;
  if (kind == PageKind::kPrediction) {
    more += asset(omnio_asset_prediction, omnio_asset_prediction_end);
  }
  if (kind == PageKind::kComparison) {
    more += "globalThis.omnioDefinitions = ";
    more += asset(omnio_asset_definitions, omnio_asset_definitions_end);
    more += ";\n";
  }
  if (kind != PageKind::kReport) more += asset(omnio_asset_comparison, omnio_asset_comparison_end);
  // In the order in which the page has them.
  const std::array<std::pair<std::string_view, std::string_view>, 5> parts = {
      {{"/*CSS*/", asset(omnio_asset_css, omnio_asset_css_end)},
       {"/*DATA*/", safe},
       {"/*ECHARTS*/", asset(omnio_asset_echarts, omnio_asset_echarts_end)},
       {"/*COMPARISON*/", more},
       {"/*PAGE*/", asset(omnio_asset_script, omnio_asset_script_end)}}};
  std::string_view rest = asset(omnio_asset_html, omnio_asset_html_end);
  std::string page;
  for (const auto& [mark, part] : parts) {
    const std::size_t at = rest.find(mark);
    page.append(rest.substr(0, at)).append(part);
    rest.remove_prefix(at + mark.size());
  }
  return page.append(rest);
}

}  // namespace omnio::report
