#include "core/base/text_table.hpp"

#include <algorithm>

namespace omnio::base {

void appendTable(std::string& out, const std::vector<std::vector<std::string>>& rows, Align align) {
  if (rows.empty()) return;
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      out += align == Align::kRight ? blanks + row[i] : row[i] + blanks;
      out += "  ";
    }
    out += row.back();
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
}

}  // namespace omnio::base
