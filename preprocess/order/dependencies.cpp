#include "preprocess/order/dependencies.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace omnio::preprocess {

void Crowd::add(const Crowd& other) {
  for (const auto& [thread, event] : other.events_) {
    PastEvent& last = events_.try_emplace(thread, event).first->second;
    if (event.ref.sequence > last.ref.sequence) last = event;
  }
  for (const std::uint64_t meeting : other.meetings_) {
    if (std::find(meetings_.begin(), meetings_.end(), meeting) == meetings_.end()) {
      meetings_.push_back(meeting);
    }
  }
}

bool Dependencies::isImplied(const PastEvent& later, const PastEvent& earlier) {
  if (earlier.ref.thread == later.ref.thread) return true;
  std::uint64_t& waited =
      waited_[static_cast<std::uint64_t>(later.ref.thread) << 32 | earlier.ref.thread];
  if (waited > earlier.ref.sequence) return true;
  waited = earlier.ref.sequence + 1;
  return false;
}

void Dependencies::require(const PastEvent& later, const PastEvent& earlier, Reason reason,
                           Overlap overlap) {
  if (keeps_none_) return;
  const bool is_ordered = overlap == Overlap::kIsOrdered && !earlier.is_below && !later.is_below;
  if (!is_ordered && !isOver(earlier, later)) return;
  if (isImplied(later, earlier)) return;
  requireId(later.ref, nameOf(earlier.ref), reason);
}

void Dependencies::require(const PastEvent& later, const ByThread& earlier, Reason reason) {
  for (const auto& [thread, event] : earlier) require(later, event, reason);
}

void Dependencies::require(const PastEvent& later, Crowd& earlier, Reason reason, Overlap overlap) {
  if (keeps_none_) return;
  constexpr std::size_t kMostWithoutMeeting = 16;
  for (const std::uint64_t meeting : earlier.meetings_) {
    if (met_[meeting].insert(later.ref.thread).second) requireId(later.ref, meeting, reason);
  }
  ByThread& events = earlier.events_;
  const auto counts = [&](const PastEvent& event) {
    const bool is_ordered = overlap == Overlap::kIsOrdered && !event.is_below && !later.is_below;
    return is_ordered || isOver(event, later);
  };
  if (events.size() <= kMostWithoutMeeting) {
    for (const auto& [thread, event] : events) require(later, event, reason, overlap);
    return;
  }
  // The meeting is in the thread of `later`, so that one waits for it without an edge.
  FileMeeting meeting{.before = later, .id = newId(), .after = {}};
  for (const std::uint64_t before : earlier.meetings_) {
    meeting.after.push_back({.id = before, .reason = reason});
  }
  for (auto at = events.begin(); at != events.end();) {
    const bool is_itself =
        at->first == later.ref.thread && at->second.ref.sequence == later.ref.sequence;
    if (is_itself || !counts(at->second)) {
      ++at;
      continue;
    }
    // Others may not have waited for what this thread has waited for before.
    if (at->first != later.ref.thread) {
      isImplied(later, at->second);
      meeting.after.push_back({.id = nameOf(at->second.ref), .reason = reason});
    }
    at = events.erase(at);
  }
  if (meeting.after.empty()) return;
  edges_ += meeting.after.size();
  for (const std::uint64_t before : earlier.meetings_) met_.erase(before);
  met_[meeting.id].insert(later.ref.thread);
  earlier.meetings_.assign(1, meeting.id);
  meetings_.push_back(std::move(meeting));
}

void Dependencies::requireId(EventRef later, std::uint64_t id, Reason reason) {
  if (keeps_none_) return;
  std::vector<model::Wait>& waits = before_[later];
  if (std::any_of(waits.begin(), waits.end(),
                  [id](const model::Wait& wait) { return wait.id == id; })) {
    return;
  }
  waits.push_back({.id = id, .reason = reason});
  ++edges_;
}

std::vector<model::Wait> Dependencies::takeBefore(EventRef event) {
  auto node = before_.extract(event);
  return node.empty() ? std::vector<model::Wait>{} : std::move(node.mapped());
}

std::uint64_t Dependencies::nameOf(EventRef event) {
  std::uint64_t& id = ids_[event];
  if (id == 0) {
    id = newId();
    named_.back() = event;
  }
  return id;
}

std::vector<std::vector<Dependencies::Waiting>> Dependencies::waiting(std::size_t threads) const {
  std::vector<std::vector<Waiting>> waiting(threads);
  for (const auto& [event, waits] : before_) {
    waiting[event.thread].push_back({event.sequence, &waits});
  }
  for (std::vector<Waiting>& thread : waiting) std::ranges::sort(thread, {}, &Waiting::sequence);
  return waiting;
}

const std::vector<model::Wait>& Dependencies::before(EventRef event) const {
  static const std::vector<model::Wait> kNone;
  const auto found = before_.find(event);
  return found == before_.end() ? kNone : found->second;
}

namespace {

constexpr std::size_t kMostRanges = 64;

Range hull(Range a, Range b) { return {std::min(a.begin, b.begin), std::max(a.end, b.end)}; }
bool touches(Range a, Range b) { return a.begin <= b.end && b.begin <= a.end; }
bool overlaps(Range a, Range b) { return a.begin < b.end && b.begin < a.end; }

}  // namespace

void DataConflicts::wrote(std::size_t content, Range range, const PastEvent& when) {
  if (range.begin >= range.end) return;
  if (content >= writers_.size()) writers_.resize(content + 1);
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

void DataConflicts::cut(std::size_t content, std::uint64_t size) {
  if (content >= writers_.size()) return;
  for (auto& [thread, writer] : writers_[content]) {
    std::erase_if(writer, [size](const Written& written) { return written.range.begin >= size; });
    for (Written& written : writer) written.range.end = std::min(written.range.end, size);
  }
}

bool DataConflicts::reads(std::size_t content, Range range, const PastEvent& reader) {
  if (content >= writers_.size()) return false;
  bool is_last_byte_written = false;
  for (const auto& [thread, writer] : writers_[content]) {
    const PastEvent* latest = nullptr;
    for (const Written& written : writer) {
      if (!overlaps(written.range, range)) continue;
      const PastEvent* candidate =
          isOver(written.last, reader) ? &written.last : &written.before_last;
      if (latest == nullptr || candidate->ref.sequence > latest->ref.sequence) latest = candidate;
      if (written.range.end >= range.end && isOver(*candidate, reader)) is_last_byte_written = true;
    }
    if (latest != nullptr) dependencies_.require(reader, *latest);
  }
  return is_last_byte_written;
}

}  // namespace omnio::preprocess
