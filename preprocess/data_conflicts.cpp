#include "preprocess/data_conflicts.hpp"

#include <algorithm>
#include <cstddef>

namespace omnio::preprocess {
namespace {

constexpr std::size_t kMostRanges = 64;

Range hull(Range a, Range b) { return {std::min(a.begin, b.begin), std::max(a.end, b.end)}; }
bool touches(Range a, Range b) { return a.begin <= b.end && b.begin <= a.end; }
bool overlaps(Range a, Range b) { return a.begin < b.end && b.begin < a.end; }

}  // namespace

void DataConflicts::wrote(std::size_t content, Range range, const PastEvent& when) {
  if (range.begin >= range.end) return;
  Writer& writer = writers_[content][when.ref.thread];
  // Mostly it goes on where it left off.
  for (auto at = writer.rbegin(); at != writer.rend(); ++at) {
    if (!touches(at->range, range)) continue;
    at->range = hull(at->range, range);
    if (at->last.ref.sequence != when.ref.sequence) at->before_last = at->last;
    at->last = when;
    return;
  }
  writer.push_back({range, when, when});
  if (writer.size() > kMostRanges) mergeClosest(writer);
}

void DataConflicts::mergeClosest(Writer& writer) {
  std::sort(writer.begin(), writer.end(),
            [](const Written& a, const Written& b) { return a.range.begin < b.range.begin; });
  std::size_t best = 1;
  for (std::size_t i = 2; i < writer.size(); ++i) {
    if (writer[i].range.begin - writer[i - 1].range.end <
        writer[best].range.begin - writer[best - 1].range.end) {
      best = i;
    }
  }
  Written& kept = writer[best - 1];
  const Written& gone = writer[best];
  kept.range = hull(kept.range, gone.range);
  const bool gone_is_later = gone.last.ref.sequence > kept.last.ref.sequence;
  const PastEvent earlier = gone_is_later ? kept.last : gone.last;
  if (gone_is_later) {
    kept.before_last = gone.before_last;
    kept.last = gone.last;
  }
  if (earlier.ref.sequence > kept.before_last.ref.sequence) kept.before_last = earlier;
  writer.erase(writer.begin() + static_cast<std::ptrdiff_t>(best));
}

void DataConflicts::reads(std::size_t content, Range range, EventRef reader,
                          std::int64_t start_ns) {
  const auto found = writers_.find(content);
  if (found == writers_.end()) return;
  for (const auto& [thread, writer] : found->second) {
    if (thread == reader.thread) continue;
    const PastEvent* latest = nullptr;
    for (const Written& written : writer) {
      if (!overlaps(written.range, range)) continue;
      const PastEvent* candidate =
          written.last.end_ns <= start_ns ? &written.last : &written.before_last;
      if (latest == nullptr || candidate->ref.sequence > latest->ref.sequence) latest = candidate;
    }
    if (latest != nullptr) dependencies_.require(reader, start_ns, *latest);
  }
}

}  // namespace omnio::preprocess
