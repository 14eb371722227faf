#include "core/pattern/access/access_patterns.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/integers.hpp"

namespace omnio::pattern::access {
namespace {

// What LoopList takes at most. The sum with the bodies' table, correlations and cursors stays below
// AccessPatterns::kMostBytes.
constexpr std::size_t kMostElements = 512;
constexpr std::size_t kMostBodies = 512;
constexpr std::size_t kMostBodyElements = 1024;
constexpr std::size_t kMostTries = 16;  // of lookUp()

std::int64_t endOf(const Request& request) {
  return base::wrappedSum(request.offset, static_cast<std::int64_t>(request.bytes));
}

}  // namespace

void AccessPatterns::add(std::int64_t offset, std::uint64_t bytes) {
  const Request access{.offset = offset, .bytes = bytes};
  const bool was_expected = cursor_.isSet() && cursor_.request(list_) == access;
  if (was_expected && support_ >= kSettled) {
    correlations_.interrupt();
  } else {
    correlations_.add(offset, bytes);
  }
  contiguous_ = accesses_ > 0 && endOf(last_) == offset ? contiguous_ + 1 : 0;
  last_ = access;
  ++accesses_;
  list_.add(offset, bytes);
  if (was_expected) {
    misses_ = 0;
    ++support_;
    cursor_.advance(list_);
  } else {
    ++misses_;
    lookUp();
  }
  bound();
}

// Ids of bodies change, so the cursor has to be found again.
void AccessPatterns::bound() {
  bool is_changed = false;
  while (list_.elements().size() >= kMostElements || list_.bodyCount() >= kMostBodies ||
         list_.bodyElementCount() >= kMostBodyElements) {
    const std::size_t gone = (list_.elements().size() + 3) / 4;
    for (std::size_t i = 0; i < gone; ++i) dropped_ += list_.requestsOf(list_.elements()[i]);
    list_.dropOldest(gone);
    is_changed = true;
  }
  if (is_changed) lookUp();
}

// Whether the element there may begin as the tail does: a cheap look before the cursor tries it.
bool AccessPatterns::mayBegin(std::size_t at, std::size_t tail) const {
  const std::span<const Element> elements = list_.elements();
  const Element& older = elements[at];
  const Element& first = elements[tail];
  if (older.isLoop()) return list_.bytesOf(older) == list_.bytesOf(first);
  if (older.body != first.body) return false;
  if (tail + 1 == elements.size()) return true;
  return base::wrappedDifference(elements[at + 1].start, older.start) ==
         base::wrappedDifference(elements[tail + 1].start, first.start);
}

void AccessPatterns::lookUp() {
  const std::span<const Element> elements = list_.elements();
  const std::size_t size = elements.size();
  cursor_.clear();
  support_ = 0;
  if (size == 0) return;

  // Twice the accesses that are explained. One more where the difference before them is the same,
  // or where it is the beginning of a loop.
  std::uint64_t best = 0;
  std::size_t tries = 0;
  const auto isBeginning = [&](std::size_t tail) {
    return std::ranges::all_of(elements.subspan(tail),
                               [&](const Element& each) { return tried_.skip(list_, each); });
  };
  const auto choose = [&](std::uint64_t score, std::uint64_t support) {
    best = score;
    support_ = support;
    std::swap(cursor_, tried_);
  };

  std::uint64_t in_tail = 0;
  for (std::size_t tail = size; tail > 0 && tail + kMostTail >= size; --tail) {
    if (tail < size) in_tail += list_.requestsOf(elements[tail]);
    const Element& loop = elements[tail - 1];
    // The next turn of the loop before the tail.
    if (loop.isLoop() && (tail == size || elements[tail].start == loop.next())) {
      const std::uint64_t support = in_tail + list_.requestsOf(loop);
      tried_.begin(list_, list_.bodyOf(loop), loop.next(), loop.stride);
      if (2 * support > best && isBeginning(tail)) choose(2 * support, support);
    }
    if (tail == size) continue;
    // The same as older elements.
    for (std::size_t at = tail; at-- > 0 && at + kMostBack >= tail && tries < kMostTries;) {
      if (!mayBegin(at, tail)) continue;
      const bool is_same_difference =
          at > 0 && base::wrappedDifference(elements[at].start, elements[at - 1].start) ==
                        base::wrappedDifference(elements[tail].start, elements[tail - 1].start);
      const std::uint64_t score =
          2 * in_tail + (is_same_difference || elements[at].isLoop() ? 1 : 0);
      if (score <= best) continue;
      ++tries;
      tried_.begin(list_, elements.subspan(at, tail - at), elements[tail].start,
                   base::wrappedDifference(elements[tail].start, elements[at].start));
      if (isBeginning(tail)) choose(score, in_tail);
    }
  }
  if (misses_ >= kGuesses && support_ < 2) cursor_.clear();
}

// A structure that explains enough goes first; then correlations, accesses without a gap, and the
// structure that is only a guess.
AccessPatterns::Source AccessPatterns::source() const {
  if (cursor_.isSet() && support_ >= kStructured) return Source::kCursor;
  if (!correlations_.followersOf(last_.offset).empty()) return Source::kCorrelations;
  if (contiguous_ + 1 >= kStructured &&
      !(cursor_.isSet() && cursor_.request(list_).offset == endOf(last_))) {
    return Source::kContiguous;
  }
  return cursor_.isSet() ? Source::kCursor : Source::kNone;
}

std::optional<AccessPatterns::Prediction> AccessPatterns::next() const {
  if (source() == Source::kCursor) return predictionAt(cursor_, support_);
  const std::vector<Prediction> predictions = predict(1);
  return predictions.empty() ? std::nullopt : std::optional(predictions.front());
}

AccessPatterns::Prediction AccessPatterns::predictionAt(const LoopCursor& cursor,
                                                        std::uint64_t support) const {
  const Request request = cursor.request(list_);
  return {request.offset, request.bytes, cursor.kind(), support};
}

std::vector<AccessPatterns::Prediction> AccessPatterns::predict(std::size_t count) const {
  std::vector<Prediction> predictions;
  switch (source()) {
    case Source::kNone:
      break;
    case Source::kCursor:
      for (LoopCursor cursor = cursor_; predictions.size() < count; cursor.advance(list_)) {
        predictions.push_back(predictionAt(cursor, support_));
      }
      break;
    case Source::kContiguous:
      for (Request last = last_; predictions.size() < count;) {
        last.offset = endOf(last);
        predictions.push_back({last.offset, last.bytes, PatternKind::kContiguous, contiguous_ + 1});
      }
      break;
    case Source::kCorrelations:
      for (std::int64_t last = last_.offset; predictions.size() < count;) {
        const std::vector<Request> followers = correlations_.followersOf(last);
        if (followers.empty()) break;
        for (const Request& each : followers) {
          if (predictions.size() == count) break;
          predictions.push_back(
              {each.offset, each.bytes, PatternKind::kCorrelation, Correlations::kLeastCount});
        }
        last = followers.back().offset;
      }
      break;
  }
  return predictions;
}

std::vector<AccessPattern> AccessPatterns::patterns() const {
  std::vector<AccessPattern> patterns;
  const std::span<const Element> elements = list_.elements();
  for (std::size_t i = 0; i < elements.size();) {
    // Requests of sizes that vary.
    std::vector<Part> run;
    std::int64_t end = elements[i].start;
    std::size_t next = i;
    for (; next < elements.size() && !elements[next].isLoop() && elements[next].start == end;
         ++next) {
      run.push_back(list_.partOf(elements[next]));
      end = endOf({.offset = end, .bytes = run.back().bytes});
      run.back().offset = base::wrappedDifference(run.back().offset, elements[i].start);
    }
    if (run.size() >= kStructured) {
      patterns.push_back(
          {PatternKind::kContiguous, loopOf(elements[i].start, 1, 0, std::move(run))});
      i = next;
      continue;
    }
    Part part = list_.partOf(elements[i++]);
    const PatternKind kind = kindOf(part);
    patterns.push_back({kind, std::move(part)});
  }
  return patterns;
}

std::size_t AccessPatterns::memoryBytes() const {
  return sizeof(*this) + list_.memoryBytes() + cursor_.memoryBytes() + tried_.memoryBytes() +
         correlations_.memoryBytes();
}

}  // namespace omnio::pattern::access
