#include "core/wire/path_pattern.hpp"

#include <array>
#include <cstdint>

namespace omnio::wire {
namespace {

// Length of the pattern element at `p` (a set is one element), and whether `c` fits it.
struct Element {
  std::size_t length = 1;
  bool fits = false;
};

Element element(std::string_view pattern, std::size_t p, char c) {
  if (pattern[p] == '?') return {1, true};
  if (pattern[p] == '\\' && p + 1 < pattern.size()) return {2, pattern[p + 1] == c};
  if (pattern[p] == '[') {
    std::size_t i = p + 1;
    const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
    if (negated) ++i;
    const std::size_t first = i;
    bool in_set = false;
    while (i < pattern.size() && (pattern[i] != ']' || i == first)) {
      if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
        in_set |= pattern[i] <= c && c <= pattern[i + 2];
        i += 3;
      } else {
        in_set |= pattern[i] == c;
        ++i;
      }
    }
    if (i < pattern.size()) return {i + 1 - p, in_set != negated};
    // No closing bracket: an ordinary character, as in the shell.
  }
  return {1, pattern[p] == c};
}

bool matches(std::string_view pattern, const PathParts& path, std::size_t begin) {
  const std::size_t size = path.size();
  std::size_t p = 0;
  std::size_t i = begin;
  std::size_t star = std::string_view::npos;  // the last `*`: what follows it may slide
  std::size_t star_i = 0;
  while (i < size) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_i = i;
      continue;
    }
    if (p < pattern.size()) {
      const Element e = element(pattern, p, path[i]);
      if (e.fits) {
        p += e.length;
        ++i;
        continue;
      }
    }
    if (star == std::string_view::npos) return false;
    p = star + 1;
    i = ++star_i;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

constexpr bool isWholePath(std::string_view pattern) {
  bool has_slash = false;
  for (const char c : pattern) has_slash |= c == '/';
  return has_slash;
}

// Characters that share a bit cost time and no more: small letters share none with digits, `/`, `.`
// and `-`.
constexpr std::uint64_t bitOf(char c) {
  const unsigned code = static_cast<unsigned char>(c);
  return std::uint64_t{1} << ((code + (code >> 6U) * 29) & 63U);
}

struct DefaultPattern {
  std::string_view text;
  std::uint64_t needs = 0;  // bitOf() each character that stands for itself
  bool is_whole_path = false;
};

// Sets of the default patterns have no `]` as a member, and none is escaped.
constexpr DefaultPattern defaultPattern(std::string_view text) {
  DefaultPattern result{.text = text, .is_whole_path = isWholePath(text)};
  bool is_in_set = false;
  for (const char c : text) {
    if (c == '[') is_in_set = true;
    if (!is_in_set && c != '*' && c != '?') result.needs |= bitOf(c);
    if (c == ']') is_in_set = false;
  }
  return result;
}

constexpr std::array<DefaultPattern, kDefaultPatterns> defaultPatterns() {
  std::array<DefaultPattern, kDefaultPatterns> result;
  for (std::size_t i = 0; i < kDefaultPatterns; ++i) {
    result[i] = defaultPattern(patternAt(kDefaultExclude, i));
  }
  return result;
}
static_assert(kDefaultExclude.find('\\') == std::string_view::npos);

}  // namespace

bool matchesPattern(std::string_view pattern, const PathParts& path) {
  std::size_t begin = 0;
  if (!isWholePath(pattern)) {
    for (std::size_t i = path.size(); i > 0; --i) {
      if (path[i - 1] == '/') {
        begin = i;
        break;
      }
    }
  }
  return matches(pattern, path, begin);
}

std::size_t firstMatch(std::string_view patterns, const PathParts& path) {
  std::size_t begin = 0;
  for (std::size_t place = 0; begin <= patterns.size(); ++place) {
    std::size_t end = begin;
    while (end < patterns.size() && patterns[end] != ':') {
      end += patterns[end] == '\\' && end + 1 < patterns.size() ? 2U : 1U;
    }
    if (end > begin &&
        matchesPattern(std::string_view(patterns.data() + begin, end - begin), path)) {
      return place;
    }
    begin = end + 1;
  }
  return kNoPattern;
}

std::size_t firstDefaultMatch(const PathParts& path) {
  static constexpr std::array kPatterns = defaultPatterns();
  std::uint64_t in_path = 0;
  std::uint64_t in_last = 0;  // the last component
  std::size_t last = 0;
  const auto look = [&](std::string_view part, std::size_t offset) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      in_last |= bitOf(part[i]);
      if (part[i] == '/') {
        in_path |= in_last;
        in_last = 0;
        last = offset + i + 1;
      }
    }
  };
  if (path.isJoined()) {
    look(path.directory, 0);
    look("/", path.directory.size());
  }
  look(path.name, path.nameOffset());
  in_path |= in_last;
  for (std::size_t place = 0; place < kPatterns.size(); ++place) {
    const DefaultPattern& pattern = kPatterns[place];
    if ((pattern.needs & ~(pattern.is_whole_path ? in_path : in_last)) == 0 &&
        matches(pattern.text, path, pattern.is_whole_path ? 0 : last)) {
      return place;
    }
  }
  return kNoPattern;
}

}  // namespace omnio::wire
