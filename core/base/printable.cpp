#include "core/base/printable.hpp"

#include <cstddef>
#include <optional>

namespace omnio::base {
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

// Of a well-formed sequence.
char32_t codePointOf(std::string_view sequence) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  switch (sequence.size()) {
    case 1:
      return at(0);
    case 2:
      return (at(0) & 0x1FU) << 6 | (at(1) & 0x3FU);
    case 3:
      return (at(0) & 0x0FU) << 12 | (at(1) & 0x3FU) << 6 | (at(2) & 0x3FU);
    default:
      return (at(0) & 0x07U) << 18 | (at(1) & 0x3FU) << 12 | (at(2) & 0x3FU) << 6 | (at(3) & 0x3FU);
  }
}

struct Range {
  char32_t first;
  char32_t last;
};

// In order. The header has the reasons.
constexpr Range kUnsafe[] = {
    {0x0000, 0x001F}, {0x007F, 0x009F}, {0x061C, 0x061C}, {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
};

bool isUnsafe(char32_t code_point) {
  for (const Range& range : kUnsafe) {
    if (code_point < range.first) return false;
    if (code_point <= range.last) return true;
  }
  return false;
}

// Printable ASCII.
bool isPlain(char c) { return c >= 0x20 && c < 0x7F; }

void appendHex(std::string& out, unsigned value, int digits) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += kHex[value >> shift & 15U];
}

void appendBytes(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    out += "\\x";
    appendHex(out, static_cast<unsigned char>(c), 2);
  }
}

void appendUtf16(std::string& out, char32_t code_point) {
  const auto unit = [&out](char32_t value) {
    out += "\\u";
    appendHex(out, value, 4);
  };
  if (code_point < 0x10000) {
    unit(code_point);
  } else {
    unit(0xD800 + ((code_point - 0x10000) >> 10));
    unit(0xDC00 + ((code_point - 0x10000) & 0x3FF));
  }
}

// Passes on what is safe as it is. `special` says whether an ASCII character is to be escaped
// besides; `escape` appends an unsafe character, or one byte that is not UTF-8.
template <typename Special, typename Escape>
void escapeInto(std::string& out, std::string_view bytes, Special special, Escape escape) {
  while (!bytes.empty()) {
    std::size_t plain = 0;
    while (plain < bytes.size() && isPlain(bytes[plain]) && !special(bytes[plain])) ++plain;
    out += bytes.substr(0, plain);
    bytes.remove_prefix(plain);
    if (bytes.empty()) return;
    const std::size_t length = utf8Length(bytes);
    const std::string_view character = bytes.substr(0, length == 0 ? 1 : length);
    if (length == 0 || special(character.front()) || isUnsafe(codePointOf(character))) {
      escape(character, length != 0);
    } else {
      out += character;
    }
    bytes.remove_prefix(character.size());
  }
}

std::optional<unsigned> hexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  return std::nullopt;
}

}  // namespace

void appendPrintable(std::string& out, std::string_view bytes, std::string_view also) {
  const auto special = [also](char c) {
    return c == '\\' || also.find(c) != std::string_view::npos;
  };
  escapeInto(out, bytes, special,
             [&out](std::string_view character, bool) { appendBytes(out, character); });
}

std::string printable(std::string_view bytes, std::string_view also) {
  std::string out;
  appendPrintable(out, bytes, also);
  return out;
}

std::string bytesOf(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] == 'x') {
      const auto high = hexDigit(text[i + 2]);
      const auto low = hexDigit(text[i + 3]);
      if (high && low) {
        out += static_cast<char>(*high << 4 | *low);
        i += 3;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

std::string safeText(std::string_view text, std::string_view keep) {
  std::string out;
  const auto escape = [&](std::string_view character, bool) {
    if (keep.find(character) != std::string_view::npos) {
      out += character;
    } else {
      appendBytes(out, character);
    }
  };
  escapeInto(
      out, text, [](char) { return false; }, escape);
  return out;
}

std::string safeJson(std::string_view document) {
  constexpr char32_t kReplacement = 0xFFFD;
  std::string out;
  const auto escape = [&](std::string_view character, bool is_utf8) {
    if (character == "\n") {
      out += character;
    } else {
      appendUtf16(out, is_utf8 ? codePointOf(character) : kReplacement);
    }
  };
  escapeInto(
      out, document, [](char) { return false; }, escape);
  return out;
}

void appendJsonText(std::string& out, std::string_view text) {
  // The common case, in one go.
  bool is_plain = true;
  for (const char c : text) is_plain &= isPlain(c) & (c != '"') & (c != '\\');
  if (is_plain) {
    out += '"';
    out += text;
    out += '"';
    return;
  }
  const auto escape = [&](std::string_view character, bool is_utf8) {
    if (!is_utf8) {
      out += '\\';
      appendBytes(out, character);
    } else if (character == "\"" || character == "\\") {
      (out += '\\') += character;
    } else if (character == "\n") {
      out += "\\n";
    } else {
      appendUtf16(out, codePointOf(character));
    }
  };
  out += '"';
  escapeInto(
      out, text, [](char c) { return c == '"' || c == '\\'; }, escape);
  out += '"';
}

std::string inBrief(std::string_view text) {
  constexpr std::size_t kMost = 200;
  return printable(text.substr(0, kMost)) + (text.size() > kMost ? "..." : "");
}

bool isPlainText(std::string_view text) {
  // Without a branch for each byte, so that the compiler takes many at once.
  bool plain = true;
  for (const char c : text) plain &= static_cast<bool>((c >= 0x20) & (c < 0x7F)) | (c == '\n');
  return plain;
}

}  // namespace omnio::base
