#include "core/base/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

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

namespace {

// Three digits that count.
std::string scaled(double value, std::string_view unit) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, unit);
}

struct Unit {
  double size;
  std::string_view name;
};

template <std::size_t kCount>
std::string largestUnit(const Unit (&units)[kCount], double value) {
  // A value that would be shown as 1000 (or 1024) of a unit is shown in the next one.
  constexpr double kRounding = 0.9995;
  for (auto unit = std::rbegin(units); unit != std::rend(units); ++unit) {
    if (value >= unit->size * kRounding) return scaled(value / unit->size, unit->name);
  }
  return {};
}

}  // namespace

std::string counted(std::uint64_t count, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

std::string humanBytes(double bytes) {
  constexpr double kKib = 1024.0;
  constexpr Unit kUnits[] = {{kKib, "KiB"},
                             {kKib * kKib, "MiB"},
                             {kKib * kKib * kKib, "GiB"},
                             {kKib * kKib * kKib * kKib, "TiB"}};
  const std::string text = largestUnit(kUnits, bytes);
  return text.empty() ? fmt::format("{:.0f} B", bytes) : text;
}

std::string humanNs(double nanoseconds) {
  constexpr Unit kUnits[] = {{1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};
  const std::string text = largestUnit(kUnits, nanoseconds);
  return text.empty() ? fmt::format("{:.0f} ns", nanoseconds) : text;
}

std::string humanMibS(double mib_per_second) { return scaled(mib_per_second, "MiB/s"); }

}  // namespace omnio::base
