#include "core/pattern/access/access_pattern.hpp"

#include <optional>

namespace omnio::pattern::access {
namespace {

// The bytes of a part whose accesses have no gap between them.
std::optional<std::int64_t> contiguousBytes(const Part& part) {
  if (!part.isLoop()) return static_cast<std::int64_t>(part.bytes);
  std::int64_t end = 0;
  for (const Part& each : part.body) {
    const std::optional<std::int64_t> bytes = contiguousBytes(each);
    if (!bytes || each.offset != end) return {};
    end += *bytes;
  }
  if (part.count > 1 && part.stride != end) return {};
  return end * static_cast<std::int64_t>(part.count);
}

}  // namespace

PatternKind kindOf(const Part& part) {
  if (!part.isLoop()) return PatternKind::kSingle;
  if (contiguousBytes(part)) return PatternKind::kContiguous;
  if (isStride(part)) return PatternKind::kStrided;
  return dimensionsOf(part).empty() ? PatternKind::kComposition : PatternKind::kNested;
}

const char* nameOf(PatternKind kind) {
  switch (kind) {
    case PatternKind::kSingle:
      return "single";
    case PatternKind::kContiguous:
      return "contiguous";
    case PatternKind::kStrided:
      return "strided";
    case PatternKind::kNested:
      return "nested";
    case PatternKind::kComposition:
      return "composition";
    case PatternKind::kCorrelation:
      return "correlation";
  }
  return "";
}

std::vector<std::int64_t> differencesOf(const Part& part) {
  std::vector<std::int64_t> differences;
  for (std::size_t i = 1; i < part.body.size(); ++i) {
    differences.push_back(part.body[i].offset - part.body[i - 1].offset);
  }
  if (part.isLoop()) differences.push_back(part.stride - part.body.back().offset);
  return differences;
}

}  // namespace omnio::pattern::access
