#include "core/pattern/access/access_patterns.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/base/integers.hpp"

namespace omnio::pattern::access {
namespace {

// LoopList takes at most so much. The sum with the bodies' table, correlations and cursors stays
// below AccessPatterns::kMostBytes.
constexpr std::size_t kMostElements = 1024;
constexpr std::size_t kMostBodies = 512;
constexpr std::size_t kMostBodyElements = 1024;

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
    if (!takeHeld(access)) lookUp();
  }
  if (misses_ > kHeld || support_ >= kSettled) held_.clear();
  bound();
}

// Goes on with the cursor that is held, if it expected the access, or if another one came in place
// of the one that it expected. Else holds the cursor, if it was right for long.
bool AccessPatterns::takeHeld(const Request& access) {
  if (support_ >= kSettled) {
    held_ = cursor_;
    held_support_ = support_;
    return false;
  }
  for (int i = 0; i < 2 && held_.isSet(); ++i) {
    LoopCursor next = held_;
    if (i > 0) next.advance(list_);
    if (next.request(list_) != access) continue;
    cursor_ = std::move(next);
    cursor_.advance(list_);
    support_ = held_support_;
    misses_ = 0;
    return true;
  }
  return false;
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
  if (!is_changed) return;
  held_.clear();
  lookUp();
}

// Whether the loop may begin as the tail does: a quick look before it is tried.
bool AccessPatterns::mayBegin(std::size_t at, std::size_t tail) const {
  const std::span<const Element> elements = list_.elements();
  const Element& loop = elements[at];
  const Element& first = elements[tail];
  if (list_.bytesOf(loop) != list_.bytesOf(first)) return false;
  if (loop.length > 1 || list_.bodyOf(loop).front().isLoop()) return true;
  if (first.isLoop()) return loop.stride == first.stride && loop.count >= first.count;
  return tail + 1 == elements.size() ||
         base::wrappedDifference(elements[tail + 1].start, first.start) == loop.stride;
}

// Makes the cursor read on after the last element: in turns of the elements from `at` on, of which
// the second one begins at `tail`. All elements from there on have to be in it.
bool AccessPatterns::tryRepeat(std::size_t at, std::size_t tail) {
  if (tail - at > kMostInBody) return false;
  const std::span<const Element> elements = list_.elements();
  tried_.begin(list_, elements.subspan(at, tail - at), elements[tail].start,
               base::wrappedDifference(elements[tail].start, elements[at].start));
  return skipFrom(tail);
}

bool AccessPatterns::tryNextTurn(std::size_t at) {
  const Element& loop = list_.elements()[at];
  tried_.begin(list_, list_.bodyOf(loop), loop.next(), loop.stride);
  return skipFrom(at + 1);
}

bool AccessPatterns::skipFrom(std::size_t tail) {
  return std::ranges::all_of(list_.elements().subspan(tail),
                             [&](const Element& each) { return tried_.skip(list_, each); });
}

void AccessPatterns::lookUp() {
  const std::span<const Element> elements = list_.elements();
  const std::size_t size = elements.size();
  cursor_.clear();
  support_ = 0;
  if (size == 0) return;

  // Twice the accesses that are explained. One more where the difference before them is the same,
  // or where they begin as a loop does.
  std::uint64_t best = 0;
  const auto choose = [&](std::uint64_t score, std::uint64_t support) {
    best = score;
    support_ = support;
    std::swap(cursor_, tried_);
  };

  std::array<std::size_t, kMostLoops> loops;  // the latest first
  std::size_t loop_count = 0;
  for (std::size_t at = size; at-- > 0 && at + kMostBack >= size && loop_count < kMostLoops;) {
    if (elements[at].isLoop()) loops[loop_count++] = at;
  }
  std::uint64_t in_tail = 0;
  for (std::size_t tail = size; tail > 0 && tail + kMostTail >= size && loop_count > 0; --tail) {
    if (tail < size) in_tail += list_.requestsOf(elements[tail]);
    const Element& before = elements[tail - 1];
    if (before.isLoop() && (tail == size || elements[tail].start == before.next())) {
      const std::uint64_t support = in_tail + list_.requestsOf(before);
      if (2 * support > best && tryNextTurn(tail - 1)) choose(2 * support, support);
    }
    if (tail == size || 2 * in_tail + 1 <= best) continue;
    for (std::size_t i = 0; i < loop_count; ++i) {
      const std::size_t at = loops[i];
      if (at >= tail || !mayBegin(at, tail) || !tryRepeat(at, tail)) continue;
      choose(2 * in_tail + 1, in_tail);
      break;
    }
  }

  // Elements that came before, each as far from the one before it.
  std::size_t tried = 0;
  for (std::size_t same = list_.previousRepeat(size - 1);
       same != LoopList::kNone && tried < kMostTried; same = list_.previousRepeat(same), ++tried) {
    const std::size_t period = size - 1 - same;
    std::size_t tail = size - 1;
    std::uint64_t support = list_.requestsOf(elements[tail]);
    bool is_same_difference = true;
    while (tail > period && tail + kMostTail > size && is_same_difference) {
      // The difference before the tail is the same, so the tail may begin one element earlier.
      if (!elements[tail - 1].isLike(elements[tail - 1 - period])) break;
      --tail;
      support += list_.requestsOf(elements[tail]);
      is_same_difference =
          tail > period &&
          base::wrappedDifference(elements[tail].start, elements[tail - 1].start) ==
              base::wrappedDifference(elements[tail - period].start,
                                      elements[tail - period - 1].start);
    }
    const std::uint64_t score = 2 * support + (is_same_difference ? 1 : 0);
    if (score > best && tryRepeat(tail - period, tail)) choose(score, support);
  }

  // At least the step from the last element but one, if it is like the last.
  if (best < 2 && size > 1 && !held_.isSet() && elements[size - 1].isLike(elements[size - 2]) &&
      tryRepeat(size - 2, size - 1)) {
    choose(2, 1);
  }
  // Structures that explain little are mostly wrong by now.
  if (misses_ >= kGuesses && support_ < kStructured) cursor_.clear();
}

// A structure that explains enough goes first; then the beginning of one, or the structure that was
// right until now; then correlations, accesses without a gap, and the structure that is only a
// guess.
AccessPatterns::Source AccessPatterns::source() const {
  if (cursor_.isSet() && support_ >= kStructured) return Source::kCursor;
  if (held_.isSet()) return cursor_.isSet() ? Source::kCursor : Source::kHeldCursor;
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

void AccessPatterns::readOn(LoopCursor cursor, std::uint64_t support, std::size_t count,
                            std::vector<Prediction>& predictions) const {
  for (; predictions.size() < count; cursor.advance(list_)) {
    predictions.push_back(predictionAt(cursor, support));
  }
}

std::vector<AccessPatterns::Prediction> AccessPatterns::predict(std::size_t count) const {
  std::vector<Prediction> predictions;
  switch (source()) {
    case Source::kNone:
      break;
    case Source::kCursor:
      readOn(cursor_, support_, count, predictions);
      break;
    case Source::kHeldCursor:
      readOn(held_, held_support_, count, predictions);
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
         held_.memoryBytes() + correlations_.memoryBytes();
}

}  // namespace omnio::pattern::access
