#include "core/pattern/access/correlations.hpp"

#include <algorithm>
#include <utility>

#include "core/base/integers.hpp"

namespace omnio::pattern::access {

std::size_t Correlations::setOf(std::int64_t offset) const {
  return base::mixed(static_cast<std::uint64_t>(offset)) % (entries_.size() / kWays) * kWays;
}

std::size_t Correlations::find(std::int64_t offset) const {
  if (entries_.empty()) return kNone;
  const std::size_t first = setOf(offset);
  for (std::size_t at = first; at < first + kWays; ++at) {
    if (entries_[at].count > 0 && entries_[at].offset == offset) return at;
  }
  return kNone;
}

// The oldest of the rarest makes room for a new follower.
void Correlations::Entry::take(std::int64_t follower, std::uint32_t distance) {
  const auto same = std::ranges::find_if(
      followers, [&](const Follower& each) { return each.count > 0 && each.offset == follower; });
  if (same != followers.end()) {
    same->count = std::min(same->count + 1, count);
    same->distances += distance;
    return;
  }
  const auto rarest = std::ranges::min_element(followers, {}, &Follower::count);
  std::move(rarest + 1, followers.end(), rarest);
  followers.back() = {.offset = follower, .count = 1, .distances = distance};
}

bool Correlations::Entry::isFrequent(const Follower& follower) const {
  return count >= kLeastCount && follower.count > 0 &&
         std::uint64_t{follower.count} * 100 >= std::uint64_t{count} * kLeastShare;
}

// The entry that it has, or a new one.
Correlations::Entry& Correlations::entryFor(std::int64_t offset) {
  if (const std::size_t at = find(offset); at != kNone) return entries_[at];
  while (true) {
    if (entries_.empty()) grow();
    const std::span<Entry> set = std::span(entries_).subspan(setOf(offset), kWays);
    // Offsets that were seen once go first.
    Entry& oldest = *std::ranges::min_element(
        set, {}, [](const Entry& entry) { return std::pair(entry.count > 1, entry.last_use); });
    if (oldest.count == 0 || entries_.size() == kMostOffsets) {
      oldest = {.offset = offset, .bytes = 0, .last_use = 0, .count = 0, .followers = {}};
      return oldest;
    }
    grow();
  }
}

// Twice as many sets: the entries of a set go to two of the new ones.
void Correlations::grow() {
  const std::vector<Entry> old = std::move(entries_);
  entries_ = std::vector<Entry>(std::max(2 * old.size(), kWays));
  for (const Entry& entry : old) {
    if (entry.count == 0) continue;
    const std::span<Entry> set = std::span(entries_).subspan(setOf(entry.offset), kWays);
    *std::ranges::find(set, 0U, &Entry::count) = entry;
  }
}

void Correlations::add(std::int64_t offset, std::uint64_t bytes) {
  for (std::size_t i = 0; i < recent_count_; ++i) {
    if (recent_[i] == offset) continue;
    const std::size_t before = find(recent_[i]);
    if (before != kNone) entries_[before].take(offset, static_cast<std::uint32_t>(i));
  }
  Entry& entry = entryFor(offset);
  ++entry.count;
  entry.bytes = bytes;
  entry.last_use = ++time_;
  // The latest first.
  std::copy_backward(recent_.begin(), recent_.end() - 1, recent_.end());
  recent_.front() = offset;
  recent_count_ = std::min(recent_count_ + 1, kReach);
}

std::vector<Request> Correlations::followersOf(std::int64_t offset) const {
  std::vector<Request> requests;
  const std::size_t at = find(offset);
  if (at == kNone) return requests;
  std::vector<Follower> frequent;
  for (const Follower& each : entries_[at].followers) {
    if (entries_[at].isFrequent(each)) frequent.push_back(each);
  }
  std::ranges::stable_sort(frequent, [](const Follower& a, const Follower& b) {
    return std::uint64_t{a.distances} * b.count < std::uint64_t{b.distances} * a.count;
  });
  for (const Follower& each : frequent) {
    const std::size_t own = find(each.offset);
    requests.push_back({.offset = each.offset, .bytes = entries_[own == kNone ? at : own].bytes});
  }
  return requests;
}

std::vector<Correlation> Correlations::all() const {
  std::vector<Correlation> all;
  for (const Entry& entry : entries_) {
    Correlation correlation{.offset = entry.offset, .followers = {}};
    for (const Request& each : followersOf(entry.offset)) {
      correlation.followers.push_back(each.offset);
    }
    if (!correlation.followers.empty()) all.push_back(std::move(correlation));
  }
  std::ranges::sort(all, {}, &Correlation::offset);
  return all;
}

}  // namespace omnio::pattern::access
