#include "core/base/printable.hpp"

#include <algorithm>
#include <cstddef>

#include "core/base/integers.hpp"

namespace omnio::base {
namespace {

struct Character {
  std::size_t length = 0;  // bytes; 0: they are not well-formed UTF-8
  char32_t code_point = 0;
};

// The UTF-8 sequence at the start of `bytes`, of which there is at least one. (Unicode standard,
// table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.)
Character firstOf(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (lead < 0x80) return {1, lead};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) return {};
  char32_t code_point = lead & (0x7FU >> length);
  for (const char next : bytes.substr(1, length - 1)) {
    if ((next & 0xC0) != 0x80) return {};
    code_point = code_point << 6 | (next & 0x3FU);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < kLeast[length] || is_surrogate || code_point > 0x10FFFF) return {};
  return {length, code_point};
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
// besides; `escape` appends an unsafe character, or one byte that is not UTF-8, of length 0 then.
template <typename Special, typename Escape>
void escapeInto(std::string& out, std::string_view bytes, Special special, Escape escape) {
  while (!bytes.empty()) {
    std::size_t plain = 0;
    while (plain < bytes.size() && isPlain(bytes[plain]) && !special(bytes[plain])) ++plain;
    out += bytes.substr(0, plain);
    bytes.remove_prefix(plain);
    if (bytes.empty()) return;
    const Character decoded = firstOf(bytes);
    const std::string_view character = bytes.substr(0, std::max<std::size_t>(decoded.length, 1));
    if (decoded.length == 0 || special(character.front()) || isUnsafe(decoded.code_point)) {
      escape(character, decoded);
    } else {
      out += character;
    }
    bytes.remove_prefix(character.size());
  }
}

}  // namespace

void appendPrintable(std::string& out, std::string_view bytes, std::string_view also) {
  const auto special = [also](char c) {
    return c == '\\' || also.find(c) != std::string_view::npos;
  };
  escapeInto(out, bytes, special,
             [&out](std::string_view character, Character) { appendBytes(out, character); });
}

std::string printable(std::string_view bytes, std::string_view also) {
  std::string out;
  appendPrintable(out, bytes, also);
  return out;
}

std::string bytesOf(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\\x" && i + 3 < text.size()) {
      if (const auto byte = wholeNumber<unsigned char>(text.substr(i + 2, 2), 16)) {
        out += static_cast<char>(*byte);
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
  const auto escape = [&](std::string_view character, Character) {
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
  const auto escape = [&](std::string_view character, Character decoded) {
    if (character == "\n") {
      out += character;
    } else {
      appendUtf16(out, decoded.length != 0 ? decoded.code_point : kReplacement);
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
    const std::size_t begin = out.size();
    out.resize(begin + text.size() + 2, '"');
    text.copy(out.data() + begin + 1, text.size());
    return;
  }
  const auto escape = [&](std::string_view character, Character decoded) {
    if (decoded.length == 0) {
      out += '\\';
      appendBytes(out, character);
    } else if (character == "\"" || character == "\\") {
      (out += '\\') += character;
    } else if (character == "\n") {
      out += "\\n";
    } else {
      appendUtf16(out, decoded.code_point);
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

std::string shellWord(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,=";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace omnio::base
