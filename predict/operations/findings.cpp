#include "predict/operations/findings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace omnio::predict {
namespace {

using pattern::access::AccessPattern;
using pattern::access::PatternKind;

constexpr std::size_t kMostShown = 8;  // numbers of a list

std::string listOf(std::span<const std::int64_t> numbers) {
  return fmt::format("{}{}", fmt::join(numbers.first(std::min(numbers.size(), kMostShown)), ", "),
                     numbers.size() > kMostShown ? ", ..." : "");
}

}  // namespace

std::string parametersOf(const AccessPattern& pattern) {
  const pattern::Part& part = pattern.part;
  const pattern::PartSummary all = summaryOf(part);
  const std::string size =
      all.smallest == all.largest ? fmt::format("{} B", all.largest) : std::string("several sizes");
  std::string text;
  switch (pattern.kind) {
    case PatternKind::kContiguous:
      return fmt::format("{} x {}", part.requests, size);
    case PatternKind::kStrided:
    case PatternKind::kNested: {
      std::vector<pattern::Dimension> dimensions = dimensionsOf(part);
      std::ranges::reverse(dimensions);
      for (std::size_t i = 0; i < dimensions.size(); ++i) {
        text += fmt::format("{} x ", dimensions[i].count);
      }
      text += size;
      for (const pattern::Dimension& dimension : dimensions) {
        text += fmt::format(", every {} B", dimension.stride);
      }
      return text;
    }
    case PatternKind::kComposition:
      return fmt::format("{} x {{{}}} B, of {}", part.count,
                         listOf(pattern::access::differencesOf(part)), size);
    case PatternKind::kSingle:
    case PatternKind::kCorrelation:
      break;
  }
  return text;
}

void Findings::Pattern::add(const Pattern& other) {
  first = times == 0 ? other.first : std::min(first, other.first);
  last = times == 0 ? other.last : std::max(last, other.last);
  times += other.times;
  accesses += other.accesses;
  bytes += other.bytes;
}

void Findings::Sizes::take(std::int64_t size) {
  bytes.add(static_cast<double>(size));
  if (different.size() > kMostDifferent) return;
  const auto place = std::ranges::lower_bound(different, size);
  if (place == different.end() || *place != size) different.insert(place, size);
}

void Findings::Sizes::add(const Sizes& other) {
  bytes.add(other.bytes);
  std::vector<std::int64_t> both;
  std::ranges::set_union(different, other.different, std::back_inserter(both));
  both.resize(std::min(both.size(), kMostDifferent + 1));
  different = std::move(both);
}

void Findings::add(const Patterns::key_type& key, const Pattern& pattern) {
  const bool has_room = patterns_.size() < kMostPatterns || patterns_.contains(key);
  patterns_[has_room ? key : Patterns::key_type{key.first, {}}].add(pattern);
}

Findings::Sizes& Findings::sizesOf(std::uint64_t context) {
  const bool has_room = sizes_.size() < kMostContexts || sizes_.contains(context);
  return sizes_[has_room ? context : 0];
}

void Findings::take(const pattern::access::AccessPatterns& patterns) {
  for (const AccessPattern& each : patterns.patterns()) {
    const pattern::PartSummary all = summaryOf(each.part);
    add({each.kind, parametersOf(each)}, {.times = 1,
                                          .first = each.part.offset,
                                          .last = each.part.offset,
                                          .accesses = each.part.requests,
                                          .bytes = all.bytes});
  }
  std::size_t shown = 0;
  for (const pattern::access::Correlation& each : patterns.correlations()) {
    if (++shown > kMostCorrelations) break;
    add({PatternKind::kCorrelation,
         fmt::format("{{{} | {}}}", each.offset, listOf(each.followers))},
        {.times = 1, .first = each.offset, .last = each.offset});
  }
  forgotten_ += patterns.droppedAccesses();
}

void Findings::take(std::uint64_t context, std::int64_t bytes) { sizesOf(context).take(bytes); }

void Findings::add(const Findings& other) {
  for (const auto& [key, pattern] : other.patterns_) add(key, pattern);
  for (const auto& [context, sizes] : other.sizes_) sizesOf(context).add(sizes);
  forgotten_ += other.forgotten_;
}

}  // namespace omnio::predict
