// Reads what Text::putHex() wrote.
#pragma once

#include <cstdint>

namespace omnio::trace {

// Takes a number off the front. False when there is none.
inline bool takeHex(const char*& text, std::uint64_t& into) {
  const char* const first = text;
  into = 0;
  for (;; ++text) {
    const bool is_decimal = *text >= '0' && *text <= '9';
    if (!is_decimal && (*text < 'a' || *text > 'f')) return text > first;
    into = into << 4 | static_cast<std::uint64_t>(is_decimal ? *text - '0' : *text - 'a' + 10);
  }
}

}  // namespace omnio::trace
