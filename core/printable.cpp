#include "core/printable.hpp"

namespace omnio {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `s`, 0 when there is none. (Unicode
// standard, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.)
std::size_t utf8Length(std::string_view s) {
  const auto at = [&](std::size_t i) {
    return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U;
  };
  const auto follows = [&](std::size_t i) { return (at(i) & 0xC0U) == 0x80U; };
  const unsigned c = at(0);
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c <= 0xDF) return follows(1) ? 2 : 0;
  if (c >= 0xE0 && c <= 0xEF) {
    if (!follows(1) || !follows(2)) return 0;
    if ((c == 0xE0 && at(1) < 0xA0) || (c == 0xED && at(1) > 0x9F)) return 0;
    return 3;
  }
  if (c >= 0xF0 && c <= 0xF4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if ((c == 0xF0 && at(1) < 0x90) || (c == 0xF4 && at(1) > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

}  // namespace

void appendPrintable(std::string& out, std::string_view bytes, std::string_view also) {
  constexpr char kHex[] = "0123456789ABCDEF";
  while (!bytes.empty()) {
    const char c = bytes.front();
    const std::size_t length = utf8Length(bytes);
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    if (length == 0 || control || c == '\\' || also.find(c) != std::string_view::npos) {
      out += "\\x";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
      bytes.remove_prefix(1);
    } else {
      out += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
}

std::string printable(std::string_view bytes, std::string_view also) {
  std::string out;
  appendPrintable(out, bytes, also);
  return out;
}

}  // namespace omnio
