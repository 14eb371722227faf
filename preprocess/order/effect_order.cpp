#include "preprocess/order/effect_order.hpp"

#include <algorithm>

namespace omnio::preprocess {

EffectOrder::EffectOrder(FileScene& scene, std::vector<std::unique_ptr<event::EventSource>> sources)
    : scene_(scene), heads_(sources.size()) {
  for (std::uint32_t thread = 0; thread < heads_.size(); ++thread) {
    heads_[thread].source = std::move(sources[thread]);
    pull(thread);
  }
}

void EffectOrder::pull(std::uint32_t thread) {
  Head& head = heads_[thread];
  head.event = head.source->next();
  if (head.event == nullptr) return;
  head.end_ns = std::max(head.event->end_ns, head.event->start_ns);
  starts_.emplace(head.event->start_ns, thread);
}

std::int64_t EffectOrder::firstStart() const {
  std::int64_t first = starts_.empty() ? 0 : INT64_MAX;
  for (const Head& head : heads_) {
    if (head.event == nullptr) continue;
    // A call of MPI-IO begins before those below it.
    const event::Event& whole = head.event->outer == nullptr ? *head.event : *head.event->outer;
    first = std::min(first, whole.start_ns);
  }
  return first;
}

void EffectOrder::run() {
  while (true) {
    const std::optional<End> end = firstEnd();
    if (!end && starts_.empty()) return;
    if (end && (starts_.empty() || end->first <= starts_.top().first)) {
      settle(end->second);
    } else {
      const std::uint32_t thread = starts_.top().second;
      starts_.pop();
      begin(thread);
    }
  }
}

std::optional<EffectOrder::End> EffectOrder::firstEnd() {
  for (; !ends_.empty(); ends_.pop()) {
    const Head& head = heads_[ends_.top().second];
    if (head.is_pending && head.end_ns == ends_.top().first) return ends_.top();
  }
  return std::nullopt;
}

// A call that changes nothing takes effect as soon as its claims hold, which never contradicts
// another one. A call that changes something is put off until its end, or until a claim needs it:
// others that overlap with it may still need what it takes away.
void EffectOrder::begin(std::uint32_t thread) {
  Head& head = heads_[thread];
  const bool overlaps = pending_ > 0 || (!starts_.empty() && starts_.top().first < head.end_ns);
  head.evidence.clear();
  if (overlaps) scene_.gather(*head.event, thread, head.evidence);
  if (head.evidence.changes.empty() && agrees(head.evidence)) {
    apply(thread);
  } else {
    hold(thread);
  }
}

bool EffectOrder::agrees(const Evidence& evidence) const {
  return std::all_of(evidence.claims.begin(), evidence.claims.end(),
                     [&](const Claim& claim) { return scene_.holds(claim) == Truth::kYes; });
}

void EffectOrder::hold(std::uint32_t thread) {
  Head& head = heads_[thread];
  head.is_pending = true;
  ++pending_;
  ends_.emplace(head.end_ns, thread);
  for (const Claim& claim : head.evidence.claims) {
    remember(claiming_, claim.subject, thread);
    if (claim.or_absent != 0) remember(claiming_, claim.or_absent, thread);
  }
  for (const Change& change : head.evidence.changes) remember(changing_, change.subject, thread);
}

void EffectOrder::remember(BySubject& held, Subject subject, std::uint32_t thread) {
  std::vector<std::uint32_t>& threads = held[subject];
  const auto at = std::ranges::lower_bound(threads, thread);
  if (at == threads.end() || *at != thread) threads.insert(at, thread);
}

void EffectOrder::forget(BySubject& held, Subject subject, std::uint32_t thread) {
  constexpr std::size_t kMostEmpty = 1024;
  const auto found = held.find(subject);
  if (found == held.end()) return;
  std::vector<std::uint32_t>& threads = found->second;
  const auto at = std::ranges::lower_bound(threads, thread);
  if (at != threads.end() && *at == thread) threads.erase(at);
  if (threads.empty() && held.size() > kMostEmpty) held.erase(found);
}

void EffectOrder::letGo(std::uint32_t thread) {
  Head& head = heads_[thread];
  head.is_pending = false;
  --pending_;
  for (const Claim& claim : head.evidence.claims) {
    forget(claiming_, claim.subject, thread);
    if (claim.or_absent != 0) forget(claiming_, claim.or_absent, thread);
  }
  for (const Change& change : head.evidence.changes) forget(changing_, change.subject, thread);
}

void EffectOrder::settle(std::uint32_t thread) {
  heads_[thread].is_being_settled = true;
  settleBroken(thread);
  settleMissing(thread);
  apply(thread);
}

// Whether the name that the call needs may come back, or go away again, by a third one that is
// under way. Then the call need not come before the one that changes the name now.
bool EffectOrder::mayComeLater(std::uint32_t thread, std::uint32_t changer,
                               const Claim& claim) const {
  const bool is_of_name = claim.kind == Claim::Kind::kThere || claim.kind == Claim::Kind::kAbsent;
  // Those that only look come first: they take nothing away from others.
  if (!is_of_name || heads_[thread].evidence.changes.empty()) return false;
  const auto found = changing_.find(claim.subject);
  return found != changing_.end() &&
         std::any_of(found->second.begin(), found->second.end(), [&](std::uint32_t third) {
           const std::vector<Change>& changes = heads_[third].evidence.changes;
           return third != thread && third != changer &&
                  std::any_of(changes.begin(), changes.end(), [&](const Change& change) {
                    return change.subject == claim.subject && scene_.holdsAfter(claim, change);
                  });
         });
}

// Others that are under way and need what this one takes away come first.
void EffectOrder::settleBroken(std::uint32_t thread) {
  for (const Change& change : heads_[thread].evidence.changes) {
    const auto found = claiming_.find(change.subject);
    if (found == claiming_.end()) continue;
    std::vector<std::uint32_t> broken;
    for (const std::uint32_t other : found->second) {
      if (heads_[other].is_being_settled) continue;
      const std::vector<Claim>& claims = heads_[other].evidence.claims;
      const bool is_broken = std::any_of(claims.begin(), claims.end(), [&](const Claim& claim) {
        return claim.subject == change.subject && scene_.holds(claim) != Truth::kNo &&
               !scene_.holdsAfter(claim, change) && !mayComeLater(other, thread, claim);
      });
      if (is_broken) broken.push_back(other);
    }
    for (const std::uint32_t other : broken) {
      // Those before may have settled this one, or have made it impossible.
      const Head& head = heads_[other];
      if (!head.is_pending || head.is_being_settled) continue;
      const bool is_refuted =
          std::any_of(head.evidence.claims.begin(), head.evidence.claims.end(),
                      [&](const Claim& claim) { return scene_.holds(claim) == Truth::kNo; });
      if (!is_refuted) settle(other);
    }
  }
}

// Whether the change makes the claim true, or is a step to it.
bool EffectOrder::leadsTo(const Change& change, const Claim& claim) const {
  if (change.subject != claim.subject) return false;
  if (scene_.holdsAfter(claim, change)) return true;
  const bool grows = change.kind == Change::Kind::kAddsSize && change.size <= INT64_MAX;
  if (!grows) return false;
  const Claim at_most{claim.subject, Claim::Kind::kSizeAtMost, claim.size, 0};
  return claim.kind == Claim::Kind::kSizeAtLeast ||
         (claim.kind == Claim::Kind::kSizeIs && scene_.holdsAfter(at_most, change));
}

// A claim that does not hold yet may be the work of another call that is under way.
void EffectOrder::settleMissing(std::uint32_t thread) {
  for (const Claim& claim : heads_[thread].evidence.claims) {
    if (scene_.holds(claim) == Truth::kYes) continue;
    const auto found = changing_.find(claim.subject);
    if (found == changing_.end()) continue;
    std::vector<End> makers;
    for (const std::uint32_t other : found->second) {
      const Head& head = heads_[other];
      const std::vector<Change>& changes = head.evidence.changes;
      if (!head.is_being_settled &&
          std::any_of(changes.begin(), changes.end(),
                      [&](const Change& change) { return leadsTo(change, claim); })) {
        makers.emplace_back(head.end_ns, other);
      }
    }
    std::sort(makers.begin(), makers.end());
    for (const auto& [end_ns, maker] : makers) {
      if (scene_.holds(claim) == Truth::kYes) break;
      const Head& head = heads_[maker];
      if (head.is_pending && !head.is_being_settled) settle(maker);
    }
  }
}

void EffectOrder::apply(std::uint32_t thread) {
  Head& head = heads_[thread];
  scene_.take(*head.event, {thread, head.sequence});
  // A call below one of MPI-IO is part of that step, which comes next in its log.
  head.sequence += head.event->outer == nullptr ? 1 : 0;
  if (head.is_pending) letGo(thread);
  head.is_being_settled = false;
  std::vector<Change> changes = std::exchange(spare_, {});
  changes.swap(head.evidence.changes);
  head.evidence.clear();
  pull(thread);
  if (!changes.empty()) takeThoseThatAgree(changes);
  changes.clear();
  spare_ = std::move(changes);
}

// Calls that change nothing, and whose claims have become true.
void EffectOrder::takeThoseThatAgree(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    const auto found = claiming_.find(change.subject);
    if (found == claiming_.end()) continue;
    std::vector<std::uint32_t> threads;
    for (const std::uint32_t other : found->second) {
      const Head& head = heads_[other];
      const bool only_looks = head.evidence.changes.empty() && !head.is_being_settled;
      if (only_looks && agrees(head.evidence)) threads.push_back(other);
    }
    // These change nothing, so each of them still agrees when the others have been taken.
    for (const std::uint32_t other : threads) apply(other);
  }
}

}  // namespace omnio::preprocess
