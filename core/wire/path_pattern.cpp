#include "core/wire/path_pattern.hpp"

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

}  // namespace

bool matchesPattern(std::string_view pattern, const PathParts& path) {
  bool whole_path = false;
  for (const char c : pattern) whole_path |= c == '/';
  std::size_t begin = 0;
  if (!whole_path) {
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

}  // namespace omnio::wire
