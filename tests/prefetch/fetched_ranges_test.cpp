// What was fetched of a file, and what of it is used or wasted.
#include "prefetch/fetched_ranges.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

namespace omnio::prefetch {
namespace {

using Range = ByteRange;
using Owner = FetchedRanges::Owner;

std::pair<std::int64_t, std::int64_t> pairOf(Range range) { return {range.begin, range.end}; }

class FetchedRangesTest : public testing::Test {
 protected:
  void add(std::int64_t begin, std::int64_t end, std::uint64_t owner = 1) {
    ranges.add({.begin = begin, .end = end}, {.process = owner, .stream = {}});
  }
  std::int64_t read(std::int64_t begin, std::int64_t end) {
    return ranges.read({.begin = begin, .end = end}, note());
  }
  FetchedRanges::Ended note() {
    return
        [this](const Owner& owner, bool was_used) { ended.emplace_back(owner.process, was_used); };
  }
  std::pair<std::int64_t, std::int64_t> missing(std::int64_t begin, std::int64_t end) const {
    return pairOf(ranges.missing({.begin = begin, .end = end}));
  }
  void expectBytes(std::int64_t fetched, std::int64_t used, std::int64_t wasted,
                   std::int64_t waiting) const {
    EXPECT_EQ(ranges.fetchedBytes(), fetched);
    EXPECT_EQ(ranges.usedBytes(), used);
    EXPECT_EQ(ranges.wastedBytes(), wasted);
    EXPECT_EQ(ranges.waitingBytes(), waiting);
  }

  FetchedRanges ranges;
  std::vector<std::pair<std::uint64_t, bool>> ended;  // by owner
};

TEST_F(FetchedRangesTest, MissingIsWhatWasNotAskedFor) {
  using Pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(missing(0, 100), Pair(0, 100));
  add(100, 200);
  add(200, 300);
  EXPECT_EQ(missing(0, 100), Pair(0, 100));
  EXPECT_EQ(missing(50, 150), Pair(50, 100));
  EXPECT_EQ(missing(150, 350), Pair(300, 350));
  EXPECT_EQ(missing(300, 400), Pair(300, 400));
  EXPECT_EQ(missing(50, 350), Pair(50, 100));  // the first part
  EXPECT_TRUE(ranges.missing({.begin = 100, .end = 300}).isEmpty());
  EXPECT_TRUE(ranges.missing({.begin = 120, .end = 280}).isEmpty());
  EXPECT_TRUE(ranges.missing({.begin = 7, .end = 7}).isEmpty());
}

TEST_F(FetchedRangesTest, AReadUsesWhatWasFetched) {
  add(100, 200, 5);
  expectBytes(100, 0, 0, 100);
  EXPECT_EQ(read(0, 100), 0);
  EXPECT_EQ(read(150, 250), 50);
  EXPECT_TRUE(ended.empty());
  expectBytes(100, 50, 0, 50);
  EXPECT_EQ(read(100, 150), 50);
  EXPECT_EQ(ended, (std::vector<std::pair<std::uint64_t, bool>>{{5, true}}));
  expectBytes(100, 100, 0, 0);
  // It is gone: the next one for the same bytes is a new one.
  EXPECT_EQ(read(100, 200), 0);
  EXPECT_FALSE(ranges.missing({.begin = 100, .end = 200}).isEmpty());
}

TEST_F(FetchedRangesTest, AReadOfSeveralRequestsUsesThemAll) {
  add(0, 100, 1);
  add(200, 300, 2);
  add(300, 400, 3);
  EXPECT_EQ(read(50, 350), 200);
  EXPECT_EQ(ended, (std::vector<std::pair<std::uint64_t, bool>>{{2, true}}));
  expectBytes(300, 200, 0, 100);
  ranges.finish(note());
  EXPECT_EQ(ended, (std::vector<std::pair<std::uint64_t, bool>>{{2, true}, {1, true}, {3, true}}));
  expectBytes(300, 200, 100, 0);
}

TEST_F(FetchedRangesTest, BytesAreUsedOnce) {
  add(0, 100);
  EXPECT_EQ(read(0, 40), 40);
  EXPECT_EQ(read(0, 40), 40);
  EXPECT_EQ(read(20, 60), 40);
  expectBytes(100, 60, 0, 40);
  ranges.finish(note());
  expectBytes(100, 60, 40, 0);
}

TEST_F(FetchedRangesTest, WhatIsNotReadIsWastedAtTheEnd) {
  add(0, 100, 1);
  add(100, 200, 2);
  read(0, 49);
  read(100, 150);
  ranges.finish(note());
  EXPECT_EQ(ended, (std::vector<std::pair<std::uint64_t, bool>>{{1, false}, {2, true}}));
  expectBytes(200, 99, 101, 0);
}

TEST_F(FetchedRangesTest, ARequestThatCameToNothingNeverWas) {
  add(0, 100);
  add(100, 200);
  read(0, 30);
  ranges.cancel(0);
  ranges.cancel(50);  // there is none
  expectBytes(100, 0, 0, 100);
  EXPECT_TRUE(ended.empty());
  EXPECT_FALSE(ranges.missing({.begin = 0, .end = 100}).isEmpty());
}

TEST_F(FetchedRangesTest, WhatManyReadsPassByIsGivenUp) {
  add(0, 100, 9);
  const auto passBy = [this](std::uint64_t reads) {
    for (std::uint64_t i = 0; i < reads; ++i) read(1000, 1100);
  };
  passBy(FetchedRanges::kPassedBy - 1);
  EXPECT_TRUE(ended.empty());
  passBy(1);
  EXPECT_EQ(ended, (std::vector<std::pair<std::uint64_t, bool>>{{9, false}}));
  expectBytes(100, 0, 0, 0);
  // It is there still, and is not asked for again.
  EXPECT_TRUE(ranges.missing({.begin = 0, .end = 100}).isEmpty());
  EXPECT_EQ(read(0, 80), 80);
  expectBytes(100, 80, 0, 0);
  ranges.finish(note());
  EXPECT_EQ(ended.size(), 1U);
  expectBytes(100, 80, 20, 0);
}

TEST_F(FetchedRangesTest, OfTooManyRequestsTheOldestAreWasted) {
  constexpr auto kMost = static_cast<std::int64_t>(FetchedRanges::kMostRequests);
  for (std::int64_t i = kMost; i >= 0; --i) {
    add(10 * i, 10 * i + 10, static_cast<std::uint64_t>(i));
    if (i == kMost) read(kMost * 100, kMost * 100 + 1);  // the first one is older than the others
  }
  EXPECT_EQ(read(0, 1), 1);
  EXPECT_EQ(
      ended,
      (std::vector<std::pair<std::uint64_t, bool>>{{static_cast<std::uint64_t>(kMost), false}}));
  expectBytes(10 * (kMost + 1), 1, 10, 10 * kMost - 1);
}

// The same, byte by byte.
class ByteArray {
 public:
  explicit ByteArray(std::size_t bytes) : request_of_(bytes), is_used_(bytes) {}

  Range missing(Range wanted) const {
    while (!wanted.isEmpty() && at(wanted.begin) != 0) ++wanted.begin;
    Range found{.begin = wanted.begin, .end = wanted.begin};
    while (found.end < wanted.end && at(found.end) == 0) ++found.end;
    return found;
  }
  void add(Range range) {
    ++last_;
    requests_[last_] = {.range = range, .made = reads_, .is_given_up = false};
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      request_of_[index(i)] = last_;
      is_used_[index(i)] = false;
    }
    fetched += range.bytes();
  }
  void cancel(std::int64_t begin) {
    const int request = at(begin);
    if (request == 0 || requests_[request].range.begin != begin) return;
    const Range range = requests_[request].range;
    fetched -= range.bytes();
    used -= range.bytes() - unusedOf(request);
    forget(request);
  }
  std::int64_t read(Range range) {
    ++reads_;
    std::int64_t covered = 0;
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      if (at(i) == 0) continue;
      ++covered;
      if (!is_used_[index(i)]) ++used;
      is_used_[index(i)] = true;
    }
    for (auto place = requests_.begin(); place != requests_.end();) {
      const auto next = std::next(place);
      if (unusedOf(place->first) == 0) forget(place->first);
      place = next;
    }
    if (reads_ % FetchedRanges::kPassedBy == 0) {
      for (auto& [number, request] : requests_) {
        if (request.made + FetchedRanges::kPassedBy <= reads_) request.is_given_up = true;
      }
    }
    return covered;
  }
  std::int64_t waiting() const {
    std::int64_t bytes = 0;
    for (const auto& [number, request] : requests_) {
      if (!request.is_given_up) bytes += unusedOf(number);
    }
    return bytes;
  }
  std::int64_t unused() const {
    std::int64_t bytes = 0;
    for (const auto& [number, request] : requests_) bytes += unusedOf(number);
    return bytes;
  }

  std::int64_t fetched = 0;
  std::int64_t used = 0;

 private:
  struct Request {
    Range range;
    std::uint64_t made = 0;
    bool is_given_up = false;
  };
  static std::size_t index(std::int64_t offset) { return static_cast<std::size_t>(offset); }
  int at(std::int64_t offset) const { return request_of_[index(offset)]; }
  std::int64_t unusedOf(int request) const {
    const Range range = requests_.at(request).range;
    std::int64_t bytes = 0;
    for (std::int64_t i = range.begin; i < range.end; ++i) bytes += is_used_[index(i)] ? 0 : 1;
    return bytes;
  }
  void forget(int request) {
    const Range range = requests_[request].range;
    for (std::int64_t i = range.begin; i < range.end; ++i) request_of_[index(i)] = 0;
    requests_.erase(request);
  }

  std::vector<int> request_of_;  // by byte; 0: none
  std::vector<bool> is_used_;
  std::map<int, Request> requests_;
  std::uint64_t reads_ = 0;
  int last_ = 0;
};

TEST(FetchedRanges, AgreesWithAnArrayOfBytes) {
  constexpr std::int64_t kBytes = 400;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&random](std::int64_t limit) {
      return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(random);
    };
    const auto anyRange = [&] {
      const std::int64_t begin = below(kBytes - 40);
      return Range{.begin = begin, .end = begin + 1 + below(40)};
    };
    FetchedRanges ranges;
    ByteArray bytes(kBytes);
    std::int64_t made = 0;
    std::int64_t ends = 0;
    const FetchedRanges::Ended count = [&ends](const Owner&, bool) { ++ends; };
    for (int step = 0; step < 800; ++step) {
      const Range range = anyRange();
      const std::int64_t what = below(10);
      if (what < 4) {
        const Range missing = ranges.missing(range);
        ASSERT_EQ(missing.isEmpty(), bytes.missing(range).isEmpty());
        if (missing.isEmpty()) continue;
        ASSERT_EQ(pairOf(missing), pairOf(bytes.missing(range)));
        ranges.add(missing, {});
        bytes.add(missing);
        ++made;
      } else if (what < 9) {
        ASSERT_EQ(ranges.read(range, count), bytes.read(range));
      } else if (seed % 2 == 0) {  // in half of the sequences every request comes to something
        ranges.cancel(range.begin);
        bytes.cancel(range.begin);
      }
      ASSERT_EQ(ranges.fetchedBytes(), bytes.fetched);
      ASSERT_EQ(ranges.usedBytes(), bytes.used);
      ASSERT_EQ(ranges.waitingBytes(), bytes.waiting());
      ASSERT_EQ(ranges.fetchedBytes(), ranges.usedBytes() + ranges.wastedBytes() + bytes.unused());
    }
    ranges.finish(count);
    EXPECT_EQ(ranges.fetchedBytes(), ranges.usedBytes() + ranges.wastedBytes());
    EXPECT_EQ(ranges.waitingBytes(), 0);
    if (seed % 2 == 1) {
      EXPECT_EQ(ends, made);
    }
  }
}

}  // namespace
}  // namespace omnio::prefetch
