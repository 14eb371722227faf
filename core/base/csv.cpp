#include "core/base/csv.hpp"

namespace omnio::base {

std::string csvCell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

void appendCsvLine(std::string& out, const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    out += csvCell(values[i]);
  }
  out += kCsvLineEnd;
}

}  // namespace omnio::base
