// Hexadecimal numbers in names, variables and marks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace omnio::wire {

// Takes a hexadecimal number of at most `most` digits (0-9, a-f) off the front. False when the text
// begins with no digit.
constexpr bool takeHexNumber(std::string_view& text, std::size_t most, std::uint64_t& value) {
  value = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && digits < most; ++digits) {
    const char c = text[digits];
    const bool is_decimal = c >= '0' && c <= '9';
    if (!is_decimal && (c < 'a' || c > 'f')) break;
    value = value << 4 | static_cast<std::uint64_t>(is_decimal ? c - '0' : c - 'a' + 10);
  }
  text.remove_prefix(digits);
  return digits > 0;
}

}  // namespace omnio::wire
