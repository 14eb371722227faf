// Who came first at a name or at the end of a file, as the results of calls tell it.
#include "tests/preprocess/traced_run.hpp"

namespace omnio::preprocess {
namespace {

class FileOrder : public TracedRun {
 protected:
  void saveAll(const std::vector<Thread>& ranks) {
    const int count = static_cast<int>(ranks.size());
    for (int rank = 0; rank < count; ++rank) {
      save(rank, count, {&ranks[static_cast<std::size_t>(rank)]});
    }
  }
  // For each wait of the event: rank, index and reason of what it waits for, "0.2 name"; delays are
  // followed.
  static std::vector<std::string> waitsOf(const Kept& kept, const ScheduleEvent& event) {
    std::vector<std::string> found;
    for (const model::Wait& wait : event.after) {
      for (std::size_t rank = 0; rank < kept.threads.size(); ++rank) {
        const auto& events = kept.threads[rank];
        for (std::size_t i = 0; i < events.size(); ++i) {
          if (events[i].id != wait.id) continue;
          found.push_back(
              fmt::format("{}.{} {}", rank, i, base::wordOf(model::kReasons, wait.reason)));
        }
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  using Waits = std::vector<std::string>;
};

TEST_F(FileOrder, TheEndThatWasSeenTellsWhichOverlappingWritesCameBefore) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1)), Thread(token(2)), Thread(token(3))};
  ranks[0]
      .open(10000, 10100, "/run/f", O_RDWR | O_CREAT | O_EXCL, 1)
      .data("pwrite", 10200, 10300, 1, 100, 0)
      .data("pwrite", 20000, 30000, 1, 100, 100);
  for (std::size_t rank = 1; rank < 4; ++rank) ranks[rank].open(10110, 10120, "/run/f", O_RDWR, 1);
  // Before and after the second write, which is under way all the time.
  ranks[1].shortRead(21000, 21100, 1, 50, 200, 50).shortRead(22000, 22100, 1, 150, 200, 50);
  ranks[2].onHandle("lseek", 21000, 21100, 1, 0, 100, SEEK_END);
  ranks[2].onHandle("lseek", 22000, 22100, 1, 0, 200, SEEK_END);
  ranks[3].shortRead(21000, 21100, 1, 0, 10, 100).data("pread", 22000, 22100, 1, 200, 0);
  saveAll(ranks);
  const Kept kept = schedule();
  const auto& threads = kept.threads;
  EXPECT_EQ(waitsOf(kept, threads[0][2]), (Waits{"1.1 file", "2.1 file", "3.1 file"}));
  EXPECT_EQ(waitsOf(kept, threads[1][1]), Waits{"0.1 file"});
  EXPECT_EQ(waitsOf(kept, threads[1][2]), Waits{"0.2 file"});
  EXPECT_EQ(waitsOf(kept, threads[2][1]), Waits{"0.1 file"});
  EXPECT_EQ(waitsOf(kept, threads[2][2]), Waits{"0.2 file"});
  EXPECT_EQ(waitsOf(kept, threads[3][2]).back(), "0.2 file");
  EXPECT_EQ(kept.files.at("f").size, 0U);
}

TEST_F(FileOrder, AReadOfAHoleWaitsForTheWriteBehindIt) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1))};
  ranks[0]
      .open(10000, 10100, "/run/f", O_RDWR | O_CREAT | O_EXCL, 1)
      .data("pwrite", 10200, 10300, 1, 10, 1000);
  ranks[1].open(10110, 10120, "/run/f", O_RDONLY, 1).data("pread", 20000, 20100, 1, 500, 0);
  saveAll(ranks);
  const Kept kept = schedule();
  EXPECT_EQ(waitsOf(kept, kept.threads[1][1]), Waits{"0.1 file"});
}

TEST_F(FileOrder, AWriteWithinTheSizeDoesNotWaitForReads) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1))};
  ranks[0]
      .open(10000, 10100, "/run/f", O_RDWR | O_CREAT | O_EXCL, 1)
      .data("pwrite", 10200, 10300, 1, 100, 0)
      .data("pwrite", 30000, 30100, 1, 50, 20)
      .onHandle("ftruncate", 40000, 40100, 1, 10);
  ranks[1]
      .open(10110, 10120, "/run/f", O_RDONLY, 1)
      .data("pread", 20000, 20100, 1, 100, 0)
      .onHandle("fstat", 20200, 20300, 1);
  saveAll(ranks);
  const Kept kept = schedule();
  EXPECT_EQ(waitsOf(kept, kept.threads[0][2]), Waits{});
  EXPECT_EQ(waitsOf(kept, kept.threads[0][3]), Waits{"1.2 file"});
}

TEST_F(FileOrder, AStatWaitsForWhoMadeTheFileLongerAndIsNotWaitedFor) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1))};
  ranks[0]
      .open(10000, 10100, "/run/f", O_RDWR | O_CREAT | O_EXCL, 1)
      .data("pwrite", 10200, 10300, 1, 100, 0)
      .data("pwrite", 30000, 30100, 1, 100, 100);
  ranks[1].onPath("stat", 20000, 20100, "/run/f").onPath("stat", 40000, 40100, "/run/f");
  saveAll(ranks);
  const Kept kept = schedule();
  EXPECT_EQ(waitsOf(kept, kept.threads[1][0]).back(), "0.1 file");
  EXPECT_EQ(waitsOf(kept, kept.threads[0][2]), Waits{});
  EXPECT_EQ(waitsOf(kept, kept.threads[1][1]), Waits{"0.2 file"});
}

TEST_F(FileOrder, AnOpenWaitsForTheCloseOfWhoWrote) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1)), Thread(token(2))};
  ranks[0]
      .open(10000, 10100, "/run/f", O_WRONLY | O_CREAT | O_TRUNC, 1)
      .data("pwrite", 10200, 10300, 1, 100, 0)
      .close(10400, 10500, 1);
  ranks[1].open(10110, 10120, "/run/f", O_RDONLY, 1).close(10510, 10520, 1);
  ranks[2].open(10600, 10700, "/run/f", O_RDONLY, 1).data("pread", 10800, 10900, 1, 100, 0);
  saveAll(ranks);
  const Kept kept = schedule();
  EXPECT_EQ(waitsOf(kept, kept.threads[2][0]).back(), "0.2 file");
  EXPECT_EQ(waitsOf(kept, kept.threads[2][1]), Waits{});
}

TEST_F(FileOrder, FreopenWritesOutAndClosesTheStreamThatItReplaces) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1)), Thread(token(2))};
  ranks[0]
      .open(10000, 10100, "/run/f", O_WRONLY | O_CREAT | O_TRUNC, 1)
      .onStream("fputc", 10200, 10300, 1, 1, 'x')
      .reopen(10400, 10500, "/run/f", "r", 1, 2)
      .onStream("fclose", 10550, 10560, 2, 0, 0);
  ranks[1]
      .open(10110, 10120, "/run/f", O_RDONLY, 1)
      .data("pread", 10600, 10700, 1, 1, 0)
      .close(10800, 10900, 1);
  ranks[2].open(10600, 10700, "/run/f", O_RDONLY, 1).close(10800, 10900, 1);
  saveAll(ranks);
  const Kept kept = schedule();
  ASSERT_EQ(kept.threads[0].size(), 4U);  // nothing is written out after the last call
  EXPECT_EQ(kept.threads[0][2].row->name, "freopen");
  EXPECT_EQ(waitsOf(kept, kept.threads[1][1]), Waits{"0.2 file"});
  EXPECT_EQ(waitsOf(kept, kept.threads[2][0]).back(), "0.2 file");
}

// A stream's bytes are in the file when its buffer is written out.
TEST_F(FileOrder, AnEndWaitsForWhatWroteTheStreamOut) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1))};
  ranks[0]
      .open(10000, 10100, "/run/f", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 1)
      .onStream("fputc", 10200, 10300, 1, 1, 'x')
      .onStream("fflush", 10400, 10500, 1, 0, 0)
      .onStream("fputc", 30000, 30100, 1, 1, 'y')
      .onStream("fclose", 30200, 30300, 1, 0, 0);
  ranks[1]
      .open(10110, 10120, "/run/f", O_RDWR, 1)
      .onHandle("lseek", 20000, 20100, 1, 0, 1, SEEK_END)
      .onHandle("lseek", 40000, 40100, 1, 0, 2, SEEK_END)
      .onHandle("fstat", 40200, 40300, 1);
  saveAll(ranks);
  const Kept kept = schedule();
  EXPECT_EQ(waitsOf(kept, kept.threads[1][1]), Waits{"0.2 file"});
  EXPECT_EQ(waitsOf(kept, kept.threads[1][2]), Waits{"0.4 file"});
  EXPECT_EQ(waitsOf(kept, kept.threads[1][3]), Waits{});
}

TEST_F(FileOrder, LosersOfARaceForANameWaitForTheWinner) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1)), Thread(token(2)), Thread(token(3))};
  ranks[0].onPath("mkdir", 10000, 20000, "/run/d", EEXIST);
  ranks[1].onPath("stat", 10005, 10006, "/run/d", ENOENT).onPath("mkdir", 10010, 20000, "/run/d");
  ranks[2].onPath("mkdir", 10020, 15000, "/run/d", EEXIST).onPath("rmdir", 16000, 17000, "/run/d");
  ranks[3].onPath("stat", 15500, 30000, "/run/d").onPath("stat", 31000, 32000, "/run/d", ENOENT);
  saveAll(ranks);
  const Kept kept = schedule();
  EXPECT_FALSE(kept.files.at("d").exists);
  EXPECT_EQ(waitsOf(kept, kept.threads[1][1]), Waits{});
  EXPECT_EQ(waitsOf(kept, kept.threads[2][0]), Waits{"1.1 name"});
  EXPECT_EQ(waitsOf(kept, kept.threads[0][0]), Waits{"1.1 name"});
  EXPECT_EQ(waitsOf(kept, kept.threads[3][0]), Waits{"1.1 name"});
  EXPECT_EQ(waitsOf(kept, kept.threads[2][1]), (Waits{"0.0 name", "3.0 name"}));
  EXPECT_EQ(waitsOf(kept, kept.threads[3][1]), Waits{"2.1 name"});
}

TEST_F(FileOrder, OneOfSeveralRenamesAndRemovalsSucceeds) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1)), Thread(token(2))};
  ranks[0]
      .rename(10000, 20000, "/run/a", "/run/b", ENOENT)
      .onPath("unlink", 30000, 40000, "/run/b", ENOENT);
  ranks[1]
      .rename(10010, 19000, "/run/a", "/run/b")
      .onPath("unlink", 30010, 39000, "/run/b", ENOENT);
  ranks[2].onPath("access", 10020, 18000, "/run/a").onPath("unlink", 30020, 38000, "/run/b");
  saveAll(ranks);
  const Kept kept = schedule();
  EXPECT_TRUE(kept.files.at("a").exists);
  EXPECT_EQ(waitsOf(kept, kept.threads[0][0]), Waits{"1.0 name"});
  EXPECT_EQ(waitsOf(kept, kept.threads[1][0]), Waits{"2.0 name"});
  EXPECT_EQ(waitsOf(kept, kept.threads[0][1]), Waits{"2.1 name"});
  EXPECT_EQ(waitsOf(kept, kept.threads[1][1]), Waits{"2.1 name"});
}

// Two make the name and two move it away, all at once: it was there, so they took turns.
TEST_F(FileOrder, MakersAndMoversOfANameTakeTurns) {
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL;
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1)), Thread(token(2)), Thread(token(3))};
  ranks[0].open(10000, 11000, "/run/a", kNew, 1).rename(20000, 21000, "/run/a", "/run/b");
  ranks[1].open(20010, 22500, "/run/a", kNew, 1);
  ranks[2].open(20900, 24000, "/run/a", kNew, 1);
  ranks[3].rename(20020, 23000, "/run/a", "/run/b");
  saveAll(ranks);
  const Kept kept = schedule();
  EXPECT_EQ(waitsOf(kept, kept.threads[1][0]), Waits{"0.1 name"});
  EXPECT_EQ(waitsOf(kept, kept.threads[3][0]), Waits{"1.0 name"});
  EXPECT_EQ(waitsOf(kept, kept.threads[2][0]), Waits{"3.0 name"});
}

TEST_F(FileOrder, ADirectoryStaysFullForWhoCouldNotRemoveIt) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1))};
  ranks[0]
      .onPath("mkdir", 10000, 10100, "/run/d")
      .onPath("mkdir", 10200, 10300, "/run/d/e")
      .onPath("rmdir", 20000, 30000, "/run/d/e");
  ranks[1]
      .onPath("rmdir", 20010, 25000, "/run/d", ENOTEMPTY)
      .onPath("rmdir", 26000, 29000, "/run/d");
  saveAll(ranks);
  const Kept kept = schedule();
  EXPECT_EQ(waitsOf(kept, kept.threads[0][2]), Waits{"1.0 name"});
  EXPECT_EQ(waitsOf(kept, kept.threads[1][1]), Waits{"0.2 name"});
}

TEST_F(FileOrder, WhatFindsNothingComesBeforeTheDirectoryAboveIsMade) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1))};
  ranks[0].onPath("mkdir", 10000, 10100, "/run/d/e", ENOENT);
  ranks[1].onPath("mkdir", 20000, 20100, "/run/d");
  saveAll(ranks);
  const Kept kept = schedule();
  EXPECT_EQ(waitsOf(kept, kept.threads[1][0]), Waits{"0.0 name"});
}

TEST_F(FileOrder, OpensThatMayMakeAFileAreInNoOrder) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1)), Thread(token(2))};
  for (Thread& rank : ranks) rank.open(10000, 20000, "/run/f", O_RDWR | O_CREAT, 1);
  saveAll(ranks);
  for (const auto& thread : schedule().threads) EXPECT_TRUE(thread[0].after.empty());
}

TEST_F(FileOrder, WhatIsWrittenComesAfterTheOverlappingOpenThatEmpties) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1))};
  ranks[0].open(10000, 12000, "/run/f", O_RDWR | O_CREAT | O_TRUNC, 1);
  ranks[1].open(10010, 12010, "/run/f", O_RDWR | O_CREAT, 1).data("pwrite", 13000, 13100, 1, 10, 0);
  saveAll(ranks);
  const Kept kept = schedule();
  EXPECT_EQ(waitsOf(kept, kept.threads[1][0]), Waits{});
  EXPECT_EQ(waitsOf(kept, kept.threads[1][1]), Waits{"0.0 file"});
}

TEST_F(FileOrder, ARaceOfManyRanksTakesOneWaitForEach) {
  constexpr std::size_t kRanks = 40;
  std::vector<Thread> ranks;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const bool wins = rank == 17;
    ranks.emplace_back(token(static_cast<int>(rank)));
    ranks.back()
        .onPath("mkdir", 10000 + rank, 20000, "/run/d", wins ? 0 : EEXIST)
        .open(30000 + rank, 31000, "/run/f", O_RDWR | O_CREAT, 1)
        .onHandle("lseek", 40000 + rank, 41000, 1, 0, 0, SEEK_END)
        .data("pwrite", 50000 + rank, 51000, 1, 10, static_cast<std::int64_t>(10 * rank))
        .close(60000 + rank, 61000, 1)
        .open(70000 + rank, 71000, "/run/f", O_RDWR | O_TRUNC, 2);
  }
  saveAll(ranks);
  const Kept kept = schedule();
  std::size_t waits = 0, delays = 0;
  for (const auto& thread : kept.threads) {
    for (const ScheduleEvent& event : thread) {
      waits += event.after.size();
      delays += event.step == model::Step::kDelay ? 1 : 0;
    }
  }
  EXPECT_GT(waits, 6 * (kRanks - 1));
  EXPECT_LT(waits, 12 * kRanks);
  EXPECT_GT(delays, 0U);
}

TEST_F(FileOrder, AWaitThatContradictsMessagesIsLeftOut) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1))};
  // The clock of the second host is wrong: it makes the directory before the message is sent.
  ranks[0].onPath("mkdir", 20000, 20100, "/run/d", EEXIST).send(1, 1, 20200, 20300);
  ranks[1].receive(0, 1, 10000, 10100).onPath("mkdir", 10200, 10300, "/run/d");
  saveAll(ranks);
  const Kept kept = schedule();
  EXPECT_EQ(waitsOf(kept, kept.threads[0][0]), Waits{});
  EXPECT_EQ(waitsOf(kept, kept.threads[1][0]), Waits{"0.0 mpi"});
  EXPECT_EQ(kept.global.left_out.back(),
            "1 waits for files that contradict the order of messages, because the clocks of the "
            "hosts differ");
}

// The step in front of the open takes over what the open waits for: the circle goes through it.
TEST_F(FileOrder, AMeetingThatContradictsMessagesIsNotWaitedFor) {
  constexpr std::uint64_t kWriters = 17;  // more than wait without a meeting
  std::vector<Thread> ranks;
  for (std::uint64_t rank = 0; rank < kWriters; ++rank) {
    ranks.emplace_back(token(static_cast<int>(rank)));
    ranks.back()
        .open(1000 + rank, 2000, "/run/f", O_RDWR | O_CREAT, 1)
        .data("pwrite", 3000 + rank, 4000, 1, 10, static_cast<std::int64_t>(10 * rank))
        .close(10000 + rank, 11000, 1);
  }
  // The clock of the first reader is wrong: it opens the file before the other one has sent.
  ranks.emplace_back(token(17));
  ranks.back().receive(18, 1, 20000, 20100).open(30000, 30100, "/run/f", O_RDONLY, 1);
  ranks.emplace_back(token(18));
  ranks.back().open(30500, 30600, "/run/f", O_RDONLY, 1).send(17, 1, 31000, 31100);
  saveAll(ranks);
  const Kept kept = schedule();
  ASSERT_EQ(kept.threads[17].size(), 2U);
  EXPECT_EQ(kept.threads[17][0].step, model::Step::kDelay);
  for (const model::Wait& wait : kept.threads[18][0].after) {
    EXPECT_NE(wait.id, kept.threads[17][0].id);
  }
  ASSERT_FALSE(kept.global.left_out.empty());
  EXPECT_EQ(kept.global.left_out.back(),
            "1 waits for files that contradict the order of messages, because the clocks of the "
            "hosts differ");
}

}  // namespace
}  // namespace omnio::preprocess
