#include "preprocess/order/lock_history.hpp"

#include <algorithm>
#include <iterator>

namespace omnio::preprocess {
namespace {

// A part around that byte becomes two.
template <typename Parts>
void splitAt(Parts& parts, std::uint64_t at) {
  const auto next = parts.upper_bound(at);
  if (next == parts.begin()) return;
  const auto around = std::prev(next);
  if (around->first == at || around->second.end <= at) return;
  auto rest = around->second;
  around->second.end = at;
  parts.emplace_hint(next, at, std::move(rest));
}

// The parts that lie in the range, none of which reaches out of it.
template <typename Parts>
auto partsIn(Parts& parts, Range range) {
  splitAt(parts, range.begin);
  splitAt(parts, range.end);
  return std::pair(parts.lower_bound(range.begin), parts.lower_bound(range.end));
}

// Calls `action` with each part that lies in the range. Where there is none, it makes one.
template <typename Parts, typename Action>
void forEachPart(Parts& parts, Range range, Action action) {
  if (range.begin >= range.end) return;
  auto [part, last] = partsIn(parts, range);
  for (std::uint64_t reached = range.begin; reached < range.end;) {
    const std::uint64_t begin = part == last ? range.end : part->first;
    if (reached < begin) {
      const auto made = parts.emplace_hint(part, reached, typename Parts::mapped_type{});
      made->second.end = begin;
      action(made->second);
    }
    reached = begin;
    if (part == last) continue;
    action(part->second);
    reached = part->second.end;
    ++part;
  }
}

// Memory does not grow with the number of locks: of too many parts, each two neighbours become one.
// A lock may then wait for a release beside its range, but never runs ahead of one in it.
template <typename Parts>
void bound(Parts& parts) {
  constexpr std::size_t kMost = 16384;
  if (parts.size() <= kMost) return;
  for (auto at = parts.begin(); at != parts.end() && std::next(at) != parts.end(); ++at) {
    const auto next = std::next(at);
    at->second.end = next->second.end;
    at->second.exclusive.add(next->second.exclusive);
    at->second.shared.add(next->second.shared);
    parts.erase(next);
  }
}

}  // namespace

void LockHistory::locks(const LockSubject& subject, bool is_exclusive, const PastEvent& when) {
  lost_.erase(subject.instance);
  Locks& locks = locks_[{subject.content, subject.kind}];
  loseToOthers(locks, subject, is_exclusive, when);
  waitForOthers(locks, subject, is_exclusive, when);
  // Who shares from now on what it had for itself lets others share it.
  if (!is_exclusive) {
    const auto [first, last] = partsIn(locks.held, subject.range);
    for (auto part = first; part != last; ++part) {
      const auto own = part->second.holders.find(subject.owner);
      if (own == part->second.holders.end() || !own->second.is_exclusive) continue;
      release(locks, {part->first, part->second.end}, Was::kExclusive, when);
    }
  }
  hold(locks, subject, {is_exclusive, when, subject.instance});
}

void LockHistory::waitForOthers(Locks& locks, const LockSubject& subject, bool is_exclusive,
                                const PastEvent& when) {
  constexpr auto kReason = Dependencies::Reason::kFile;
  const Range& range = subject.range;
  auto part = locks.released.upper_bound(range.begin);
  if (part != locks.released.begin() && std::prev(part)->second.end > range.begin) --part;
  for (; part != locks.released.end() && part->first < range.end; ++part) {
    dependencies_.require(when, part->second.exclusive, kReason, Overlap::kIsOrdered);
    if (!is_exclusive) continue;
    dependencies_.require(when, part->second.shared, kReason, Overlap::kIsOrdered);
  }
}

// Others who had the lock have let go of it, by what is not recorded.
void LockHistory::loseToOthers(Locks& locks, const LockSubject& subject, bool is_exclusive,
                               const PastEvent& when) {
  if (!subject.is_range_known) return;
  const auto [first, last] = partsIn(locks.held, subject.range);
  for (auto part = first; part != last; ++part) {
    std::erase_if(part->second.holders, [&](const auto& other) {
      const auto& [owner, holder] = other;
      if (owner == subject.owner || (!is_exclusive && !holder.is_exclusive)) return false;
      lost_[holder.instance].push_back(when);
      return true;
    });
  }
}

void LockHistory::hold(Locks& locks, const LockSubject& subject, const Holder& holder) {
  const Range& range = subject.range;
  if (range.begin >= range.end) return;
  forEachPart(locks.held, range, [&](Held& part) { part.holders[subject.owner] = holder; });
  Range& reach = locks.reach.try_emplace(subject.owner, range).first->second;
  reach = {std::min(reach.begin, range.begin), std::max(reach.end, range.end)};
  // Records that are locked one after the other become one.
  const auto own = locks.held.find(range.begin);
  if (own == locks.held.begin()) return;
  const auto before = std::prev(own);
  const auto isAlone = [&](const Held& part) {
    return part.holders.size() == 1 && part.holders.begin()->first == subject.owner &&
           part.holders.begin()->second.is_exclusive == holder.is_exclusive;
  };
  if (before->second.end != range.begin || !isAlone(before->second) || !isAlone(own->second)) {
    return;
  }
  before->second = std::move(own->second);
  locks.held.erase(own);
}

void LockHistory::unlocks(const LockSubject& subject, const PastEvent& when) {
  lost_.erase(subject.instance);
  letGo(locks_[{subject.content, subject.kind}], subject, when);
}

void LockHistory::closed(ContentId content, LockOwner owner, const PastEvent& when) {
  for (const LockKind kind : {LockKind::kWhole, LockKind::kRecord}) {
    const auto found = locks_.find({content, kind});
    if (found == locks_.end()) continue;
    const auto reach = found->second.reach.find(owner);
    if (reach == found->second.reach.end()) continue;
    letGo(found->second, {.content = content, .kind = kind, .owner = owner, .range = reach->second},
          when);
  }
}

bool LockHistory::isExclusive(const LockSubject& subject) const {
  const auto found = locks_.find({subject.content, subject.kind});
  if (found == locks_.end()) return false;
  const Parts<Held>& held = found->second.held;
  std::uint64_t reached = subject.range.begin;
  auto part = held.upper_bound(reached);
  if (part != held.begin()) --part;
  for (; part != held.end() && reached < subject.range.end; ++part) {
    const auto own = part->second.holders.find(subject.owner);
    if (part->first > reached || own == part->second.holders.end() || !own->second.is_exclusive) {
      return false;
    }
    reached = std::max(reached, part->second.end);
  }
  return reached >= subject.range.end;
}

void LockHistory::letGo(Locks& locks, const LockSubject& subject, const PastEvent& when) {
  const auto [first, last] = partsIn(locks.held, subject.range);
  bool has_held = false;
  for (auto part = first; part != last;) {
    auto& holders = part->second.holders;
    const auto own = holders.find(subject.owner);
    if (own != holders.end()) {
      has_held = true;
      dependencies_.require(when, own->second.taken);  // by another thread with the same lock
      release(locks, {part->first, part->second.end},
              own->second.is_exclusive ? Was::kExclusive : Was::kShared, when);
      // Of a range that is not known, some may be had still.
      if (subject.is_range_known) holders.erase(own);
    }
    part = holders.empty() ? locks.held.erase(part) : std::next(part);
  }
  // It was had before the recording, say.
  if (!has_held) release(locks, subject.range, Was::kNotKnown, when);
  const auto reach = locks.reach.find(subject.owner);
  const bool is_all = subject.is_range_known && reach != locks.reach.end() &&
                      subject.range.begin <= reach->second.begin &&
                      reach->second.end <= subject.range.end;
  if (is_all) locks.reach.erase(reach);
}

void LockHistory::release(Locks& locks, Range range, Was was, const PastEvent& when) {
  if (was == Was::kExclusive) {
    // Whoever had it for itself has waited for all the others.
    const auto [first, last] = partsIn(locks.released, range);
    locks.released.erase(first, last);
  }
  forEachPart(locks.released, range, [&](Released& part) {
    (was == Was::kShared ? part.shared : part.exclusive).add(when);
  });
  bound(locks.released);
}

}  // namespace omnio::preprocess
