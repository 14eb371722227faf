// Locks and releases in the order in which they took effect, and who waits for whom.
#include "preprocess/order/lock_history.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace omnio::preprocess {
namespace {

using Events = std::vector<std::pair<std::uint32_t, std::uint64_t>>;  // thread and sequence

constexpr Range kAll{0, UINT64_MAX};

// Each thread is a process of its own, and its calls follow each other.
class LockHistoryTest : public testing::Test {
 protected:
  PastEvent next(std::uint32_t thread) {
    now_ += 10;
    return {{thread, sequences_[thread]++}, now_, now_ + 5};
  }
  static LockSubject subject(std::uint64_t process, Range range) {
    return {.content = 1,
            .kind = LockKind::kRecord,
            .owner = {LockOwner::Kind::kProcess, process},
            .range = range,
            .instance = InstanceId{static_cast<std::uint32_t>(process)}};
  }
  PastEvent lock(std::uint32_t thread, Range range, bool is_exclusive = true) {
    return lockOf(thread, thread, range, is_exclusive);
  }
  // Of a thread of another process.
  PastEvent lockOf(std::uint64_t process, std::uint32_t thread, Range range,
                   bool is_exclusive = true) {
    const PastEvent when = next(thread);
    locks_.locks(subject(process, range), is_exclusive, when);
    return when;
  }
  PastEvent unlock(std::uint32_t thread, Range range, bool is_range_known = true) {
    const PastEvent when = next(thread);
    LockSubject what = subject(thread, range);
    what.is_range_known = is_range_known;
    locks_.unlocks(what, when);
    return when;
  }
  Events waitsOf(const PastEvent& event) {
    Events events;
    for (const model::Wait& wait : dependencies_.before(event.ref)) {
      const std::optional<EventRef>& ref = dependencies_.named(wait.id);
      if (ref) events.emplace_back(ref->thread, ref->sequence);
    }
    std::sort(events.begin(), events.end());
    return events;
  }
  static Events these(const std::vector<PastEvent>& all) {
    Events events;
    for (const PastEvent& event : all) events.emplace_back(event.ref.thread, event.ref.sequence);
    std::sort(events.begin(), events.end());
    return events;
  }

  Dependencies dependencies_;
  LockHistory locks_{dependencies_};
  std::map<std::uint32_t, std::uint64_t> sequences_;
  std::int64_t now_ = 0;
};

TEST_F(LockHistoryTest, ThreadsOfOneProcessBothWaitForWhoHadTheLockBefore) {
  lock(1, {0, 8});
  const PastEvent released = unlock(1, {0, 8});
  EXPECT_EQ(waitsOf(lockOf(2, 2, {0, 8})), these({released}));
  EXPECT_EQ(waitsOf(lockOf(2, 3, {0, 8})), these({released}));
}

TEST_F(LockHistoryTest, AnUnlockComesAfterTheLockByAnotherThread) {
  const PastEvent taken = lockOf(2, 3, {0, 8});
  EXPECT_EQ(waitsOf(unlock(2, {0, 8})), these({taken}));
}

TEST_F(LockHistoryTest, AReleaseOfUnknownBytesLeavesTheLockAsItWas) {
  lock(1, {0, 100});
  unlock(1, kAll, false);
  const PastEvent released = unlock(1, {0, 100});
  EXPECT_EQ(waitsOf(lock(2, {50, 60})), these({released}));
}

TEST_F(LockHistoryTest, AReleaseOfWhatIsNotKnownToBeHadCounts) {
  const PastEvent released = unlock(1, {0, 100});
  EXPECT_EQ(waitsOf(lock(2, {50, 60}, false)), these({released}));
  EXPECT_EQ(waitsOf(lock(3, {100, 110})), Events{});
}

TEST_F(LockHistoryTest, SharedLocksWaitForExclusiveOnesAlone) {
  lock(1, {0, 8}, false);
  const PastEvent shared = unlock(1, {0, 8});
  lock(2, {0, 8});
  const PastEvent exclusive = unlock(2, {0, 8});
  lock(3, {0, 8}, false);
  const PastEvent again = unlock(3, {0, 8});
  EXPECT_EQ(waitsOf(lock(4, {0, 8}, false)), these({exclusive}));
  EXPECT_EQ(waitsOf(lock(5, {0, 8})), these({exclusive, again}));
  EXPECT_EQ(waitsOf(PastEvent{{2, 0}, 0, 0}), these({shared}));
}

TEST_F(LockHistoryTest, TakingASharedLockAgainReleasesNothing) {
  lock(1, {0, 8}, false);
  lock(1, {0, 8}, false);
  EXPECT_EQ(waitsOf(lock(2, {0, 8})), Events{});
}

TEST_F(LockHistoryTest, ACloseReleasesAllThatTheOwnerHas) {
  lock(1, {0, 8});
  lock(1, {100, 108});
  const PastEvent closed = next(1);
  locks_.closed(1, {LockOwner::Kind::kProcess, 1}, closed);
  EXPECT_EQ(waitsOf(lock(2, {100, 101})), these({closed}));
  EXPECT_EQ(waitsOf(lock(3, {4, 5})), these({closed}));
  EXPECT_FALSE(locks_.isExclusive(subject(1, {0, 8})));
}

TEST_F(LockHistoryTest, WhoseLockOthersHaveHasLostIt) {
  lock(1, {0, 100});
  const PastEvent later = lock(2, {10, 20});
  ASSERT_EQ(locks_.lost().size(), 1U);
  EXPECT_EQ(locks_.lost().begin()->first, InstanceId{1});
  EXPECT_EQ(these(locks_.lost().begin()->second), these({later}));
  EXPECT_TRUE(locks_.isExclusive(subject(1, {0, 10})));
  EXPECT_FALSE(locks_.isExclusive(subject(1, {0, 100})));
  // It is at work still.
  unlock(1, {0, 100});
  EXPECT_TRUE(locks_.lost().empty());
}

TEST_F(LockHistoryTest, RecordsSideBySideAreExclusiveAsAWhole) {
  lock(1, {0, 10});
  lock(1, {10, 20});
  EXPECT_TRUE(locks_.isExclusive(subject(1, {5, 15})));
  EXPECT_FALSE(locks_.isExclusive(subject(1, {5, 21})));
  lock(1, {12, 13}, false);
  EXPECT_FALSE(locks_.isExclusive(subject(1, {5, 15})));
  EXPECT_TRUE(locks_.isExclusive(subject(1, {13, 20})));
}

// More parts than are kept apart: none runs ahead of a release, and edges stay few.
TEST_F(LockHistoryTest, ManyRecordsKeepTheirOrder) {
  constexpr std::uint64_t kRecords = 50000;
  const std::uint64_t edges_before = dependencies_.edges();
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    const auto thread = static_cast<std::uint32_t>(1 + i % 4);
    lock(thread, {i * 10, i * 10 + 8});
    unlock(thread, {i * 10, i * 10 + 8});
  }
  // Four threads: what one of them waits for beside its records is at most all of the others.
  EXPECT_LE(dependencies_.edges() - edges_before, 3 * kRecords);
  const PastEvent later = lock(9, {0, 4});
  const Events waits = waitsOf(later);
  ASSERT_FALSE(waits.empty());
  EXPECT_EQ(waits.front().first, 1U);  // the thread that had it
}

}  // namespace
}  // namespace omnio::preprocess
