// Who waited for whose lock (flock, fcntl).
#include <sys/file.h>

#include "tests/preprocess/traced_run.hpp"

namespace omnio::preprocess {
namespace {

class LockOrder : public TracedRun {
 protected:
  // Ranks that have opened a file, by which they lock.
  explicit LockOrder(std::size_t count = 3) {
    for (std::size_t rank = 0; rank < count; ++rank) {
      ranks_.emplace_back(token(static_cast<int>(rank)));
      ranks_.back().open(1000 + 100 * rank, 1050 + 100 * rank, "/run/f", O_RDWR, 1);
    }
  }
  void make() {
    const int count = static_cast<int>(ranks_.size());
    for (int rank = 0; rank < count; ++rank) {
      save(rank, count, {&ranks_[static_cast<std::size_t>(rank)]});
    }
    kept_ = schedule();
  }
  std::uint64_t idOf(std::size_t rank, std::size_t event) {
    return kept_.threads[rank].at(event).id;
  }
  using Ids = std::vector<std::uint64_t>;

  std::vector<Thread> ranks_;
  Kept kept_;
};

TEST_F(LockOrder, WhoWaitedComesAfterTheReleaseThatItOverlaps) {
  ranks_[0].lock(10000, 10100, 1, F_WRLCK, 0, 8).lock(20000, 20100, 1, F_UNLCK, 0, 8);
  // It got the lock before the call that released it had returned.
  ranks_[1].lock(10500, 20050, 1, F_WRLCK, 4, 100);
  make();
  EXPECT_EQ(idsOf(kept_.threads[1].at(1)), Ids{idOf(0, 2)});
  EXPECT_NE(idOf(0, 2), 0U);
}

TEST_F(LockOrder, OtherRangesAndSharedLocksWaitForNobody) {
  ranks_[0].lock(10000, 10100, 1, F_RDLCK, 0, 8).lock(20000, 20100, 1, F_UNLCK, 0, 8);
  ranks_[1].lock(30000, 30100, 1, F_RDLCK, 0, 8);
  ranks_[2].lock(30000, 30100, 1, F_WRLCK, 8, 8);
  make();
  EXPECT_EQ(idsOf(kept_.threads[1].at(1)), Ids{});
  EXPECT_EQ(idsOf(kept_.threads[2].at(1)), Ids{});
}

TEST_F(LockOrder, AnExclusiveLockWaitsForAllThatShared) {
  ranks_[0].lock(10000, 10100, 1, F_RDLCK, 0, 0).lock(20000, 20100, 1, F_UNLCK, 0, 0);
  ranks_[1].lock(10000, 10100, 1, F_RDLCK, 100, 10).close(21000, 21100, 1);
  ranks_[2].lock(10500, 21050, 1, F_WRLCK, 0, 0);
  make();
  Ids wanted{idOf(0, 2), idOf(1, 2)};
  std::sort(wanted.begin(), wanted.end());
  Ids found = idsOf(kept_.threads[2].at(1));
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, wanted);
}

TEST_F(LockOrder, APartThatIsReleasedIsFreeAndTheRestIsNot) {
  ranks_[0]
      .lock(10000, 10100, 1, F_WRLCK, 0, 300)
      .lock(20000, 20100, 1, F_UNLCK, 100, 100)
      .lock(40000, 40100, 1, F_UNLCK, 0, 0);
  ranks_[1].lock(30000, 30100, 1, F_WRLCK, 150, 10);
  ranks_[2].lock(30000, 40050, 1, F_WRLCK, 250, 10);
  make();
  EXPECT_EQ(idsOf(kept_.threads[1].at(1)), Ids{idOf(0, 2)});
  EXPECT_EQ(idsOf(kept_.threads[2].at(1)), Ids{idOf(0, 3)});
}

TEST_F(LockOrder, TheLastReleaseAloneIsWaitedForWhereLocksAreInTurn) {
  ranks_[0].lock(10000, 10100, 1, F_WRLCK, 0, 8).lock(20000, 20100, 1, F_UNLCK, 0, 8);
  ranks_[1].lock(10500, 20200, 1, F_WRLCK, 0, 8).lock(30000, 30100, 1, F_UNLCK, 0, 8);
  ranks_[2].lock(10600, 30200, 1, F_WRLCK, 0, 8);
  make();
  EXPECT_EQ(idsOf(kept_.threads[2].at(1)), Ids{idOf(1, 2)});
}

TEST_F(LockOrder, RecordLocksAndThoseOfWholeFilesAreNotInEachOthersWay) {
  ranks_[0].lock(10000, 10100, 1, F_WRLCK, 0, 0).lock(20000, 20100, 1, F_UNLCK, 0, 0);
  ranks_[1].onHandle("flock", 30000, 30100, 1, LOCK_EX);
  make();
  EXPECT_EQ(idsOf(kept_.threads[1].at(1)), Ids{});
}

TEST_F(LockOrder, ALengthBelowZeroIsOfTheBytesBefore) {
  ranks_[0].lock(10000, 10100, 1, F_WRLCK, 100, -50).lock(20000, 20100, 1, F_UNLCK, 0, 0);
  ranks_[1].lock(30000, 30100, 1, F_WRLCK, 50, 1);
  ranks_[2].lock(30000, 30100, 1, F_WRLCK, 100, 1);
  make();
  EXPECT_EQ(idsOf(kept_.threads[1].at(1)), Ids{idOf(0, 2)});
  EXPECT_EQ(idsOf(kept_.threads[2].at(1)), Ids{});
}

TEST_F(LockOrder, SharingWhatOneHadForItselfLetsOthersShareIt) {
  ranks_[0].lock(10000, 10100, 1, F_WRLCK, 0, 8).lock(20000, 20100, 1, F_RDLCK, 0, 8);
  ranks_[1].lock(10500, 20050, 1, F_RDLCK, 0, 8);
  make();
  EXPECT_EQ(idsOf(kept_.threads[1].at(1)), Ids{idOf(0, 2)});
}

TEST_F(LockOrder, AFailedLockChangesNothing) {
  ranks_[0].lock(10000, 10100, 1, F_WRLCK, 0, 8).lock(40000, 40100, 1, F_UNLCK, 0, 8);
  ranks_[1].lock(20000, 20100, 1, F_WRLCK, 0, 8, F_SETLK, EAGAIN);
  ranks_[2].lock(50000, 50100, 1, F_WRLCK, 0, 8);
  make();
  EXPECT_EQ(idsOf(kept_.threads[1].at(1)), Ids{});
  EXPECT_EQ(idsOf(kept_.threads[2].at(1)), Ids{idOf(0, 2)});
}

}  // namespace
}  // namespace omnio::preprocess
