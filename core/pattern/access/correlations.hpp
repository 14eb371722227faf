// Offsets that other offsets follow, in any order: the unstructured patterns of Tang et al.
// (Euro-Par 2014). "{10 | 20, 30}" says that 20 and 30 come soon after nearly each 10.
//
// A table of at most kMostOffsets offsets, which is small while there are few; those that were
// seen once, and not for longest, make room first. An access costs constant time. Not for several
// threads at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/pattern/access/access_pattern.hpp"

namespace omnio::pattern::access {

class Correlations {
 public:
  static constexpr std::size_t kMostOffsets = 128;
  static constexpr std::size_t kMostFollowers = 6;
  // Accesses after an offset that count as its followers.
  static constexpr std::size_t kReach = 4;
  // How often an offset has to be seen.
  static constexpr std::uint32_t kLeastCount = 3;
  // T_corr, in percent of the times an offset was seen: a follower comes no less often.
  static constexpr std::uint32_t kLeastShare = 75;

  void add(std::int64_t offset, std::uint64_t bytes);
  // The next offset does not count as a follower of those before.
  void interrupt() { recent_count_ = 0; }

  // Followers of the offset, the nearest first; none where it has no frequent ones.
  std::vector<Request> followersOf(std::int64_t offset) const;
  // Offsets with followers, sorted.
  std::vector<Correlation> all() const;

  std::size_t memoryBytes() const { return entries_.capacity() * sizeof(Entry); }

 private:
  struct Follower {
    std::int64_t offset = 0;
    std::uint32_t count = 0;
    std::uint32_t distances = 0;  // accesses in between, summed
  };
  struct Entry {
    std::int64_t offset = 0;
    std::uint64_t bytes = 0;  // of the last access there
    std::uint64_t last_use = 0;
    std::uint32_t count = 0;  // 0: not used
    std::array<Follower, kMostFollowers> followers;

    void take(std::int64_t follower, std::uint32_t distance);
    bool isFrequent(const Follower& follower) const;
  };
  static constexpr std::size_t kWays = 4;  // an offset is in one of so many entries
  static constexpr std::size_t kNone = SIZE_MAX;

  std::size_t setOf(std::int64_t offset) const;
  Entry& entryFor(std::int64_t offset);
  void grow();
  // Index of the entry that it has; kNone when it has none.
  std::size_t find(std::int64_t offset) const;

  std::vector<Entry> entries_;  // a power of two; none before the first access
  std::array<std::int64_t, kReach> recent_{};
  std::size_t recent_count_ = 0;
  std::uint64_t time_ = 0;
};

}  // namespace omnio::pattern::access
