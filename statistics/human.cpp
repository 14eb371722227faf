#include "statistics/human.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace omnio::stats {
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
  // What would be shown as 1000 (or 1024) of a unit is one of the next.
  constexpr double kRounding = 0.9995;
  for (auto unit = std::rbegin(units); unit != std::rend(units); ++unit) {
    if (value >= unit->size * kRounding) return scaled(value / unit->size, unit->name);
  }
  return {};
}

}  // namespace

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

}  // namespace omnio::stats
