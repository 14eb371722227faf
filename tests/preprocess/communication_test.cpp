// Order that communication puts the steps of a schedule into, in cases whose edges and delays were
// drawn by hand. The files are different ones, so that nothing but communication orders ranks.
#include <algorithm>

#include "tests/core/mpi_requests_testing.hpp"
#include "tests/preprocess/traced_run.hpp"

namespace omnio::preprocess {
namespace {

using calls::Role;
using model::Reason;
using model::Work;

class Communication : public TracedRun {
 protected:
  // A rank's thread that opened a file of its own from 1000 to 1010.
  static Thread rankThread(int rank) {
    Thread thread(token(rank));
    thread.open(1000, 1010, "/run/own" + std::to_string(rank), O_RDWR | O_CREAT, 1);
    return thread;
  }

  Kept scheduleOf(const std::vector<Thread>& threads, const Settings& settings = {}) {
    const int ranks = static_cast<int>(threads.size());
    for (int rank = 0; rank < ranks; ++rank) {
      save(rank, ranks, {&threads[static_cast<std::size_t>(rank)]});
    }
    return schedule(settings);
  }

  static model::Wait mpi(std::uint64_t id, std::int64_t compute, std::int64_t communication) {
    return {id, Reason::kMpi, {compute, communication}};
  }
};

TEST_F(Communication, AMessageIsWaitedForAndWaitingIsNoWork) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1)};
  ranks[0].data("pwrite", 1010, 2000, 1, 100, 0).send(1, 1, 2050, 2060);
  ranks[1].receive(0, 1, 1100, 2080).data("pwrite", 2100, 3000, 1, 100, 0);
  const Kept kept = scheduleOf(ranks);
  const ScheduleEvent& sent = kept.threads.at(0).at(1);
  const ScheduleEvent& received = kept.threads.at(1).at(1);
  ASSERT_NE(sent.id, 0U);
  EXPECT_FALSE(sent.own.has_value());
  EXPECT_TRUE(sent.after.empty());
  // 90 before it entered MPI_Recv and 20 behind it; 30 from the send's begin to the end.
  EXPECT_EQ(received.own, (Work{110, 30}));
  // 50 from the write's end to the send, then the same.
  EXPECT_EQ(received.after, std::vector{mpi(sent.id, 70, 30)});
}

TEST_F(Communication, WithoutThatOrderNothingOfItIsKept) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1)};
  ranks[0].data("pwrite", 1010, 2000, 1, 100, 0).send(1, 1, 2050, 2060);
  ranks[1].receive(0, 1, 1100, 2080).data("pwrite", 2100, 3000, 1, 100, 0);
  const Kept kept = scheduleOf(ranks, {.order = model::Order::kFile});
  EXPECT_FALSE(kept.threads.at(1).at(1).own.has_value());
  EXPECT_TRUE(kept.threads.at(1).at(1).after.empty());
}

TEST_F(Communication, AMessageThatWasThereIsNotWaitedForButOrdersAllTheSame) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1)};
  ranks[0].data("pwrite", 1010, 1100, 1, 100, 0).send(1, 1, 1110, 1120);
  ranks[1].receive(0, 1, 2000, 2010).data("pwrite", 2030, 3000, 1, 100, 0);
  const Kept kept = scheduleOf(ranks);
  const ScheduleEvent& received = kept.threads.at(1).at(1);
  EXPECT_EQ(received.own, (Work{1010, 10}));
  EXPECT_EQ(received.after, std::vector{mpi(kept.threads.at(0).at(1).id, 30, 10)});
}

TEST_F(Communication, ADelayThatClocksMakeNegativeCountsAsNothing) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1)};
  ranks[0].data("pwrite", 1010, 2000, 1, 100, 0).send(1, 1, 2050, 2060);
  ranks[1].receive(0, 1, 1100, 2040).data("pwrite", 2100, 3000, 1, 100, 0);
  const Kept kept = scheduleOf(ranks);
  EXPECT_EQ(summary_.early, 1U);
  EXPECT_EQ(summary_.early_most_ns, 10);
  // 50 from the write's end to the send, 60 behind the receive.
  EXPECT_EQ(kept.threads.at(1).at(1).after, std::vector{mpi(kept.threads.at(0).at(1).id, 110, 0)});
}

TEST_F(Communication, WithoutItsCounterpartAWaitIsNotTakenForWorkUnlessAllowed) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1)};
  ranks[0].data("pwrite", 1010, 2000, 1, 100, 0);
  ranks[1].receive(0, 1, 1100, 2080).data("pwrite", 2100, 3000, 1, 100, 0);
  try {
    scheduleOf(ranks);
    ADD_FAILURE() << "a schedule was made";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("1 of these may have waited"), std::string::npos)
        << error.what();
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "schedule.json"));
  EXPECT_EQ(schedule({.partial = true}).threads.size(), 2U);
  EXPECT_EQ(schedule({.timing = model::Timing::kAsap}).threads.size(), 2U);
  EXPECT_EQ(schedule({.order = model::Order::kFile}).threads.size(), 2U);
}

TEST_F(Communication, ACallThatALostRankNeverAnsweredMattersOnlyBeforeIo) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1)};
  ranks[0].data("pwrite", 1010, 2000, 1, 100, 0);
  ranks[1].data("pwrite", 1010, 2000, 1, 100, 0).receive(0, 1, 2100, 2180);
  EXPECT_EQ(scheduleOf(ranks).threads.size(), 2U);
}

TEST_F(Communication, ARankWithoutIoBetweenTwoMessagesBecomesOneEdge) {
  std::vector<Thread> ranks{rankThread(0), Thread(token(1)), rankThread(2)};
  ranks[0].data("pwrite", 1010, 2000, 1, 100, 0).send(1, 1, 2050, 2060);
  ranks[1].receive(0, 1, 1100, 2080).send(2, 1, 2100, 2110);
  ranks[2].receive(1, 1, 1500, 2140).data("pwrite", 2150, 3000, 1, 100, 0);
  const Kept kept = scheduleOf(ranks);
  ASSERT_EQ(kept.threads.back().size(), 2U);
  const ScheduleEvent& last = kept.threads.back().at(1);
  EXPECT_EQ(last.own, (Work{500, 40}));
  // 50 + 20 + 10 of the three ranks' own work, 30 and 40 of the two messages. What rank 1 did since
  // the beginning is covered.
  EXPECT_EQ(last.after.at(0), mpi(kept.threads.at(0).at(1).id, 80, 70));
}

TEST_F(Communication, WorkBeforeAnyIoCountsFromTheBeginning) {
  std::vector<Thread> ranks{rankThread(0), Thread(token(1))};
  ranks[0].data("pwrite", 1010, 1100, 1, 100, 0).receive(1, 1, 1200, 9050);
  ranks[0].data("pwrite", 9060, 9100, 1, 100, 100);
  ranks[1].send(0, 1, 9000, 9010);
  const Kept kept = scheduleOf(ranks);
  const ScheduleEvent& last = kept.threads.at(0).at(2);
  EXPECT_EQ(last.own, (Work{110, 50}));
  EXPECT_EQ(last.after, std::vector{mpi(0, 8010, 50)});
}

TEST_F(Communication, ABarrierOfAFewIsAnEdgeFromEachOther) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1), rankThread(2)};
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    const std::uint64_t end = 2000 + 100 * rank;
    ranks[rank].data("pwrite", 1010, end, 1, 100, 0).barrier(1, end + 10, 2240);
    ranks[rank].data("pwrite", 2250, 3000, 1, 100, 100);
  }
  const Kept kept = scheduleOf(ranks);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const ScheduleEvent& next = kept.threads.at(rank).at(2);
    EXPECT_EQ(next.own, (Work{20, 30})) << rank;
    std::vector<model::Wait> others;
    for (std::size_t other = 0; other < 3; ++other) {
      if (other != rank) others.push_back(mpi(kept.threads.at(other).at(1).id, 20, 30));
    }
    EXPECT_EQ(next.after, others) << rank;
  }
}

// Four ranks and two processors: ranks 2 and 3 leave the barrier when ranks 0 and 1 have done
// something else.
class SharedProcessors : public Communication {
 protected:
  // The work of rank 2 before its next write, where ranks 0 and 1 do `then` from 1130 on.
  template <typename Then>
  Work workOfTheLate(Then then, std::int64_t bytes = 0) {
    std::vector<Thread> ranks;
    for (int rank = 0; rank < 4; ++rank) {
      Thread& thread = ranks.emplace_back(rankThread(rank));
      const bool is_late = rank >= 2;
      thread.mpi("Allreduce", 1100, is_late ? 5000 : 1120,
                 {{Role::kComm, 1}, {Role::kSize, bytes}, {Role::kSeq, 1}});
      if (!is_late) then(thread);
      thread.data("pwrite", 5010, 6000, 1, 100, 0);
    }
    return scheduleOf(ranks).threads.at(2).at(1).own.value_or(Work{});
  }
};

TEST_F(SharedProcessors, TheTimeUntilOthersComeToTheirStorageIsNoCommunication) {
  // 90 before the barrier and 10 behind it; 30 from when all had come until rank 0 began to write.
  EXPECT_EQ(workOfTheLate([](Thread& thread) { thread.data("pwrite", 1130, 4000, 1, 100, 200); }),
            (Work{100, 30}));
}

TEST_F(SharedProcessors, WhereOthersComputeTheLateHaveToWait) {
  EXPECT_EQ(workOfTheLate([](Thread&) {}), (Work{100, 3900}));
}

TEST_F(SharedProcessors, LittleThatAStreamKeepsFreesNoProcessor) {
  const auto print = [](std::int64_t bytes) {
    return [bytes](Thread& thread) { thread.data("fprintf", 1130, 1140, 1, bytes); };
  };
  EXPECT_EQ(workOfTheLate(print(100)), (Work{100, 3900}));
}

TEST_F(SharedProcessors, ALargeCollectiveCallMayTakeItsTime) {
  EXPECT_EQ(workOfTheLate([](Thread& thread) { thread.data("pwrite", 1130, 4000, 1, 100, 200); },
                          1 << 20),
            (Work{100, 3900}));
}

TEST_F(Communication, ABroadcastOrdersTheRootBeforeTheOthersAlone) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1)};
  const auto bcast = [](Thread& thread, std::uint64_t start, std::uint64_t end) {
    thread.mpi("Bcast", start, end,
               {{Role::kComm, 1}, {Role::kRoot, 0}, {Role::kSize, 8}, {Role::kSeq, 1}});
  };
  ranks[0].data("pwrite", 1010, 5000, 1, 100, 0);
  bcast(ranks[0], 5010, 5020);
  ranks[0].data("pwrite", 5030, 6000, 1, 100, 100);
  ranks[1].data("pwrite", 1010, 2000, 1, 100, 0);
  bcast(ranks[1], 2010, 5040);
  ranks[1].data("pwrite", 5050, 6000, 1, 100, 100);
  const Kept kept = scheduleOf(ranks);
  EXPECT_TRUE(kept.threads.at(0).at(2).after.empty());
  EXPECT_EQ(kept.threads.at(0).at(2).own, (Work{20, 10}));
  EXPECT_EQ(kept.threads.at(1).at(2).own, (Work{20, 30}));
  EXPECT_EQ(kept.threads.at(1).at(2).after, std::vector{mpi(kept.threads.at(0).at(1).id, 20, 30)});
}

TEST_F(Communication, ANonblockingExchangeSignalsWhereItBegins) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1)};
  const auto halo = [](Thread& thread, int other, std::uint64_t start, std::uint64_t end) {
    thread.mpi("Irecv", start, start + 5,
               {{Role::kComm, 1}, {Role::kPeer, other}, {Role::kRequest, 1}});
    thread.mpi("Isend", start + 10, start + 15,
               {{Role::kComm, 1},
                {Role::kPeer, other},
                {Role::kSize, 8},
                {Role::kSeq, 1},
                {Role::kRequest, 2}});
    thread.mpi("Waitall", start + 20, end, {},
               test::listOf({test::received(1, other, 1), test::done(2)}));
  };
  ranks[0].data("pwrite", 1010, 2000, 1, 100, 0);
  halo(ranks[0], 1, 2000, 3040);
  ranks[0].data("pwrite", 3050, 3500, 1, 100, 100);
  ranks[1].data("pwrite", 1010, 3000, 1, 100, 0);
  halo(ranks[1], 0, 3000, 3030);
  ranks[1].data("pwrite", 3050, 3500, 1, 100, 100);
  const Kept kept = scheduleOf(ranks);
  const ScheduleEvent& early = kept.threads.at(0).at(2);
  const ScheduleEvent& late = kept.threads.at(1).at(2);
  // The late rank's Isend begins at 3010, 10 behind its write (5 of these in MPI_Irecv).
  EXPECT_EQ(early.after, std::vector{mpi(kept.threads.at(1).at(1).id, 15, 35)});
  EXPECT_EQ(early.own, (Work{20, 40}));
  EXPECT_EQ(late.after, std::vector{mpi(kept.threads.at(0).at(1).id, 25, 15)});
}

TEST_F(Communication, TheRootOfALargeBroadcastComesBehindWhomItStayedFor) {
  for (const int bytes : {8, 64 << 20}) {
    std::vector<Thread> ranks{rankThread(0), rankThread(1)};
    const auto bcast = [&](Thread& thread, std::uint64_t start, std::uint64_t end) {
      thread.mpi("Bcast", start, end,
                 {{Role::kComm, 1}, {Role::kRoot, 0}, {Role::kSize, bytes}, {Role::kSeq, 1}});
    };
    ranks[0].data("pwrite", 1010, 2000, 1, 100, 0);
    bcast(ranks[0], 2010, 5040);
    ranks[0].data("pwrite", 5050, 6000, 1, 100, 100);
    ranks[1].data("pwrite", 1010, 5000, 1, 100, 0);
    bcast(ranks[1], 5010, 5045);
    ranks[1].data("pwrite", 5050, 6000, 1, 100, 100);
    const Kept kept = scheduleOf(ranks);
    const ScheduleEvent& root = kept.threads.at(0).at(2);
    if (bytes == 8) {
      EXPECT_TRUE(root.after.empty());
      EXPECT_EQ(root.own, (Work{20, 3030}));
    } else {
      EXPECT_EQ(root.own, (Work{20, 30}));
      EXPECT_EQ(root.after, std::vector{mpi(kept.threads.at(1).at(1).id, 20, 30)});
    }
    EXPECT_EQ(kept.threads.at(1).at(2).after,
              std::vector{mpi(kept.threads.at(0).at(1).id, 15, 35)});
  }
}

TEST_F(Communication, ALargeGatherKeepsAMemberUntilTheRootHasCome) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1)};
  const auto gather = [](Thread& thread, std::uint64_t start, std::uint64_t end) {
    thread.mpi("Gather", start, end,
               {{Role::kComm, 1}, {Role::kRoot, 0}, {Role::kSize, 1 << 20}, {Role::kSeq, 1}});
  };
  ranks[0].data("pwrite", 1010, 5000, 1, 100, 0);
  gather(ranks[0], 5010, 5040);
  ranks[1].data("pwrite", 1010, 2000, 1, 100, 0);
  gather(ranks[1], 2010, 5030);
  ranks[1].data("pwrite", 5050, 6000, 1, 100, 100);
  const Kept kept = scheduleOf(ranks);
  EXPECT_EQ(kept.threads.at(1).at(2).after, std::vector{mpi(kept.threads.at(0).at(1).id, 30, 20)});
}

TEST_F(Communication, ALargeSendWaitsForItsReceiverAlsoWhereThatHadCome) {
  for (const int bytes : {8, 1 << 20}) {
    std::vector<Thread> ranks{rankThread(0), rankThread(1)};
    ranks[0].data("pwrite", 1010, 5000, 1, 100, 0);
    ranks[0].mpi("Send", 5010, 5040,
                 {{Role::kComm, 1}, {Role::kPeer, 1}, {Role::kSize, bytes}, {Role::kSeq, 1}});
    ranks[0].data("pwrite", 5050, 6000, 1, 100, 100);
    ranks[1].data("pwrite", 1010, 2000, 1, 100, 0);
    ranks[1].mpi("Recv", 2010, 5030,
                 {{Role::kComm, 1}, {Role::kPeer, 0}, {Role::kGot, bytes}, {Role::kSeq, 1}});
    const Kept kept = scheduleOf(ranks);
    const ScheduleEvent& next = kept.threads.at(0).at(2);
    EXPECT_EQ(next.own, (Work{20, 30}));
    if (bytes == 8) {
      EXPECT_TRUE(next.after.empty());
    } else {
      EXPECT_EQ(next.after, std::vector{mpi(kept.threads.at(1).at(1).id, 20, 30)});
    }
  }
}

TEST_F(Communication, ALargeMessageThatOnlyWentInTheSendersWaitIsSignalledThere) {
  for (const int bytes : {8, 1 << 20}) {
    std::vector<Thread> ranks{rankThread(0), rankThread(1)};
    ranks[0].mpi("Isend", 1020, 1030,
                 {{Role::kComm, 1},
                  {Role::kPeer, 1},
                  {Role::kSize, bytes},
                  {Role::kSeq, 1},
                  {Role::kRequest, 1}});
    ranks[0].data("pwrite", 1040, 5000, 1, 100, 0);
    ranks[0].mpi("Wait", 5010, 5040, {}, test::listOf({test::done(1)}));
    ranks[1].mpi("Recv", 1020, 5030,
                 {{Role::kComm, 1}, {Role::kPeer, 0}, {Role::kGot, bytes}, {Role::kSeq, 1}});
    ranks[1].data("pwrite", 5050, 6000, 1, 100, 0);
    const Kept kept = scheduleOf(ranks);
    const ScheduleEvent& next = kept.threads.at(1).at(1);
    if (bytes == 8) {
      // Whatever delayed it, it was not the sender's write.
      EXPECT_EQ(next.after, std::vector{mpi(kept.threads.at(0).at(0).id, 30, 4010)});
    } else {
      EXPECT_EQ(next.after, std::vector{mpi(kept.threads.at(0).at(1).id, 30, 20)});
    }
  }
}

TEST_F(Communication, APersistentSendIsLikeAnyOther) {
  for (const std::uint64_t bytes : {8U, 1U << 20}) {
    std::vector<Thread> ranks{rankThread(0), rankThread(1)};
    ranks[0].mpi("Start", 1020, 1030, {},
                 test::listOf({wire::BegunRequest{.request = 1,
                                                  .kind = wire::BegunRequest::kSend,
                                                  .comm = 1,
                                                  .peer = 1,
                                                  .bytes = bytes,
                                                  .seq = 1}}));
    ranks[0].data("pwrite", 1040, 5000, 1, 100, 0);
    ranks[0].mpi("Wait", 5010, 5040, {}, test::listOf({test::done(1)}));
    ranks[1].mpi("Recv", 1020, 5030,
                 {{Role::kComm, 1},
                  {Role::kPeer, 0},
                  {Role::kGot, static_cast<std::int64_t>(bytes)},
                  {Role::kSeq, 1}});
    ranks[1].data("pwrite", 5050, 6000, 1, 100, 0);
    const Kept kept = scheduleOf(ranks);
    const std::size_t from = bytes == 8 ? 0 : 1;
    ASSERT_EQ(kept.threads.at(1).at(1).after.size(), 1U);
    EXPECT_EQ(kept.threads.at(1).at(1).after[0].id, kept.threads.at(0).at(from).id) << bytes;
  }
}

TEST_F(Communication, ManyRanksMeetInOneStep) {
  constexpr int kRanks = 40;
  constexpr int kRounds = 5;
  std::vector<Thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    Thread& thread = ranks.emplace_back(rankThread(rank));
    for (int round = 0; round < kRounds; ++round) {
      const auto at = static_cast<std::uint64_t>(2000 + 1000 * round);
      const auto end = at + 10 * static_cast<std::uint64_t>((rank + round) % kRanks);
      thread.data("pwrite", at, end, 1, 100, 100 * round).barrier(round + 1, end + 10, at + 500);
    }
    thread.data("pwrite", 9000, 9100, 1, 100, 9000);
  }
  const Kept kept = scheduleOf(ranks);
  std::size_t edges = 0;
  std::size_t meetings = 0;
  for (const auto& thread : kept.threads) {
    for (const ScheduleEvent& event : thread) {
      edges += event.after.size();
      meetings += event.step == model::Step::kDelay ? 1 : 0;
    }
  }
  EXPECT_EQ(meetings, static_cast<std::size_t>(kRounds));
  // Each round has an edge from each rank to the meeting and one back, but for the rank whose
  // thread has the meeting.
  EXPECT_EQ(edges, static_cast<std::size_t>(kRounds) * 2 * (kRanks - 1));
}

TEST_F(Communication, FilesDoNotOrderWhatAMessageOrders) {
  std::vector<Thread> ranks{Thread(token(0)), Thread(token(1))};
  for (int rank = 0; rank < 2; ++rank) {
    ranks[static_cast<std::size_t>(rank)].open(1000, 1010, "/run/shared", O_RDWR, 1);
  }
  ranks[0].data("pwrite", 1010, 2000, 1, 100, 0).data("pwrite", 2010, 2020, 1, 100, 500);
  ranks[0].send(1, 1, 2050, 2060);
  ranks[1].receive(0, 1, 1100, 2080).data("pread", 2100, 3000, 1, 100, 0);
  const Kept kept = scheduleOf(ranks);
  const ScheduleEvent& read = kept.threads.at(1).at(1);
  EXPECT_EQ(read.after, std::vector{mpi(kept.threads.at(0).at(2).id, 50, 30)});
  const Kept by_files = scheduleOf(ranks, {.order = model::Order::kFile});
  EXPECT_EQ(by_files.threads.at(1).at(1).after,
            std::vector{model::Wait{.id = by_files.threads.at(0).at(1).id}});
}

TEST_F(Communication, WhoLeavesBeforeAnotherComesDoesNotWaitForIt) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1)};
  // MPI_Comm_free need not synchronise.
  const auto release = [](Thread& thread, std::uint64_t start, std::uint64_t end) {
    thread.mpi("Comm_free", start, end, {{Role::kComm, 1}, {Role::kSeq, 1}});
  };
  release(ranks[0], 1020, 1030);
  ranks[0].data("pwrite", 1040, 1100, 1, 100, 0);
  ranks[1].data("pwrite", 1010, 4000, 1, 100, 0);
  release(ranks[1], 4010, 4020);
  ranks[1].data("pwrite", 4030, 4100, 1, 100, 100);
  const Kept kept = scheduleOf(ranks);
  EXPECT_TRUE(kept.threads.at(0).at(1).after.empty());
  EXPECT_EQ(kept.threads.at(0).at(1).own, (Work{20, 10}));
}

TEST_F(Communication, ANonblockingCollectiveOrdersFromWhereItBegins) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1)};
  const auto begin = [](Thread& thread, std::uint64_t at) {
    thread.mpi("Iallreduce", at, at + 5,
               {{Role::kComm, 1}, {Role::kSize, 8}, {Role::kSeq, 1}, {Role::kRequest, 1}});
  };
  const auto wait = [](Thread& thread, std::uint64_t start, std::uint64_t end) {
    thread.mpi("Wait", start, end, {}, test::listOf({test::done(1)}));
  };
  begin(ranks[0], 1100);
  ranks[0].data("pwrite", 1120, 1190, 1, 100, 0);
  wait(ranks[0], 1200, 1230);
  ranks[0].data("pwrite", 1240, 1300, 1, 100, 100);
  ranks[1].data("pwrite", 1010, 1105, 1, 100, 0);
  begin(ranks[1], 1110);
  wait(ranks[1], 1210, 1240);
  ranks[1].data("pwrite", 1250, 1300, 1, 100, 100);
  const Kept kept = scheduleOf(ranks);
  const auto& first = kept.threads.at(0);
  const auto& second = kept.threads.at(1);
  const auto names = [](const ScheduleEvent& event, std::uint64_t id) {
    const auto ids = idsOf(event);
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  ASSERT_NE(second.at(1).id, 0U);
  EXPECT_TRUE(names(first.at(2), second.at(1).id));
  // Rank 0's write behind MPI_Iallreduce is not part of it.
  EXPECT_FALSE(names(second.at(2), first.at(1).id) && first.at(1).id != 0);
}

TEST_F(Communication, CollectiveCallsWithoutIoBetweenThemMakeNoStep) {
  constexpr int kRanks = 8;
  std::vector<Thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    Thread& thread = ranks.emplace_back(rankThread(rank));
    for (int call = 0; call < 100; ++call) {
      const auto at = static_cast<std::uint64_t>(2000 + 100 * call);
      thread.barrier(call + 1, at + static_cast<std::uint64_t>((rank * 7 + call) % 50), at + 60);
    }
    thread.data("pwrite", 20000, 20100, 1, 100, 0);
  }
  const Kept kept = scheduleOf(ranks);
  std::size_t meetings = 0;
  for (const auto& thread : kept.threads) {
    for (const ScheduleEvent& event : thread) meetings += event.step == model::Step::kDelay ? 1 : 0;
  }
  EXPECT_EQ(meetings, 1U);
}

TEST_F(Communication, ASynchronousSendComesBehindItsReceiveAlsoWhenThatWasThere) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1)};
  ranks[0].mpi("Ssend", 1100, 1110,
               {{Role::kComm, 1}, {Role::kPeer, 1}, {Role::kSize, 8}, {Role::kSeq, 1}});
  ranks[0].data("pwrite", 1120, 1200, 1, 100, 0);
  ranks[1].data("pwrite", 1010, 1050, 1, 100, 0).receive(0, 1, 1060, 1112);
  const Kept kept = scheduleOf(ranks);
  ASSERT_NE(kept.threads.at(1).at(1).id, 0U);
  EXPECT_EQ(idsOf(kept.threads.at(0).at(1)), std::vector{kept.threads.at(1).at(1).id});
}

TEST_F(Communication, AMemberOfACollectiveWriteWaitsForThoseThatWrite) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1)};
  const auto write_all = [](Thread& thread, std::uint64_t start, std::uint64_t end) {
    thread.mpi("File_write_all", start, end,
               {{Role::kFile, wire::handleSlot(1)},
                {Role::kComm, 1},
                {Role::kSize, 100},
                {Role::kSeq, 1}});
  };
  // Rank 0 collects and writes from 2100 to 2900, for both.
  ranks[0].data("pwrite", 2100, 2900, 1, 200, 0, 1);  // recorded when it ends
  write_all(ranks[0], 2000, 2950);
  ranks[0].data("pwrite", 3000, 3100, 1, 100, 200);
  write_all(ranks[1], 2050, 2960);
  ranks[1].data("pwrite", 3000, 3100, 1, 100, 0);
  const Kept kept = scheduleOf(ranks);
  const ScheduleEvent& inner = kept.threads.at(0).at(1);
  // 990 before rank 0 entered the call; the last member came at 2050.
  EXPECT_EQ(inner.own, (Work{990, 50}));
  EXPECT_EQ(inner.after, std::vector{mpi(kept.threads.at(1).at(0).id, 1040, 50)});
  const ScheduleEvent& behind = kept.threads.at(1).at(1);
  EXPECT_EQ(behind.own, (Work{1080, 60}));
  EXPECT_EQ(behind.after, std::vector{mpi(inner.id, 40, 60)});
}

TEST_F(Communication, AMemberOfACollectiveWriteDoesNotWaitForWhatEndedBeforeItCame) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1)};
  const auto write_all = [](Thread& thread, std::uint64_t start, std::uint64_t end) {
    thread.mpi("File_write_all", start, end,
               {{Role::kFile, wire::handleSlot(1)},
                {Role::kComm, 1},
                {Role::kSize, 100},
                {Role::kSeq, 1}});
  };
  // Each writes for itself: rank 0 before rank 1 has come.
  ranks[0].data("pwrite", 2010, 2040, 1, 100, 0);
  write_all(ranks[0], 2000, 2120);
  ranks[1].data("pwrite", 2110, 2140, 1, 100, 200);
  write_all(ranks[1], 2100, 2150);
  ranks[1].data("pwrite", 3000, 3100, 1, 100, 300);
  const Kept kept = scheduleOf(ranks);
  const ScheduleEvent& behind = kept.threads.at(1).at(2);
  EXPECT_EQ(behind.own, (Work{850, 10}));
  EXPECT_TRUE(behind.after.empty());
}

TEST_F(Communication, AMemberOfACollectiveOpenWaitsForTheFirstToOpenTheFile) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1), rankThread(2)};
  const auto barrier = [](Thread& thread, std::uint64_t start, std::uint64_t end) {
    thread.mpi("Barrier", start, end, {{Role::kComm, 1}, {Role::kSeq, 1}});
  };
  // All try something of their own first. Rank 0 makes the file meanwhile, and the others open it
  // one after the other by chance.
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    ranks[rank].open(2010, 2020, "/run/try" + std::to_string(rank), O_RDWR | O_CREAT, 2);
  }
  ranks[0].open(2030, 2500, "/run/shared", O_RDWR | O_CREAT, 3);
  barrier(ranks[0], 2000, 2800);
  ranks[1].open(2510, 2540, "/run/shared", O_RDWR, 3);
  barrier(ranks[1], 2000, 2800);
  ranks[2].open(2550, 2580, "/run/shared", O_RDWR, 3);
  barrier(ranks[2], 2000, 2800);
  const Kept kept = scheduleOf(ranks);
  const ScheduleEvent& maker = kept.threads.at(0).at(2);
  for (std::size_t rank = 1; rank < 3; ++rank) {
    const ScheduleEvent& opened = kept.threads.at(rank).at(2);
    const std::int64_t own = rank == 1 ? 10 : 50;
    EXPECT_EQ(opened.own, (Work{0, own})) << rank;
    EXPECT_EQ(opened.after, std::vector{mpi(maker.id, 0, own)}) << rank;
  }
}

TEST_F(Communication, OpensAtOnceInACollectiveOpenDoNotWaitForEachOther) {
  std::vector<Thread> ranks{rankThread(0), rankThread(1), rankThread(2)};
  const auto barrier = [](Thread& thread, std::uint64_t start, std::uint64_t end) {
    thread.mpi("Barrier", start, end, {{Role::kComm, 1}, {Role::kSeq, 1}});
  };
  // Ranks 0 and 1 open a file that is there; rank 2 comes later by chance.
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    const std::uint64_t start = rank < 2 ? 2010 + rank : 2050;
    ranks[rank].open(start, start + 30, "/run/shared", O_RDWR, 3);
    barrier(ranks[rank], 2000, 2800);
  }
  const Kept kept = scheduleOf(ranks);
  for (const auto& rank : kept.threads) {
    for (const model::Wait& wait : rank.at(1).after) {
      for (const auto& other : kept.threads) EXPECT_NE(wait.id, other.at(1).id);
    }
  }
}

// The steps in which many meet, by rank.
std::vector<std::size_t> meetingsOf(const Kept& kept) {
  std::vector<std::size_t> meetings;
  for (const auto& thread : kept.threads) {
    meetings.push_back(static_cast<std::size_t>(std::count_if(
        thread.begin(), thread.end(),
        [](const ScheduleEvent& event) { return event.step == model::Step::kDelay; })));
  }
  return meetings;
}

TEST_F(Communication, AMemberThatDoesNotWaitForAGatherHostsNoMeeting) {
  constexpr int kRanks = 8;
  std::vector<Thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    Thread& thread = ranks.emplace_back(rankThread(rank));
    const auto number = static_cast<std::uint64_t>(rank);
    const bool is_root = rank == kRanks - 1;
    thread.data("pwrite", 1010, 1100 + number, 1, 100, 0);
    // The root leaves it before all others.
    thread.mpi("Gather", 2000 + number, is_root ? 3000 : 4000,
               {{Role::kComm, 1}, {Role::kRoot, kRanks - 1}, {Role::kSize, 8}, {Role::kSeq, 1}});
    thread.data("pwrite", 5000, 5100, 1, 100, 100);
  }
  const Kept kept = scheduleOf(ranks);
  EXPECT_EQ(meetingsOf(kept), (std::vector<std::size_t>{0, 0, 0, 0, 0, 0, 0, 1}));
  for (int rank = 0; rank < kRanks - 1; ++rank) {
    EXPECT_TRUE(kept.threads.at(static_cast<std::size_t>(rank)).back().after.empty()) << rank;
  }
}

TEST_F(Communication, AMemberThatWroteSinceItCameHostsNoMeeting) {
  constexpr int kRanks = 8;
  std::vector<Thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    Thread& thread = ranks.emplace_back(rankThread(rank));
    const auto number = static_cast<std::uint64_t>(rank);
    thread.data("pwrite", 1010, 1100 + number, 1, 100, 0);
    if (rank == 0) thread.data("pwrite", 2100, 2200, 1, 100, 100, 1);
    const std::uint64_t start = rank == kRanks - 1 ? 3000 : 2000 + number;
    thread.mpi("File_sync", start, 4000 + number,
               {{Role::kFile, wire::handleSlot(1)}, {Role::kComm, 1}, {Role::kSeq, 1}});
    thread.data("pwrite", 5000, 5100, 1, 100, 9000);
  }
  EXPECT_EQ(meetingsOf(scheduleOf(ranks)), (std::vector<std::size_t>{0, 1, 0, 0, 0, 0, 0, 0}));
}

TEST_F(Communication, ManyWritersInsideACollectiveWriteAreWaitedForInOneStep) {
  constexpr int kRanks = 300;
  constexpr int kWriters = 150;
  std::vector<Thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    Thread& thread = ranks.emplace_back(rankThread(rank));
    const auto number = static_cast<std::uint64_t>(rank);
    for (std::uint64_t piece = 0; rank < kWriters && piece < 10; ++piece) {
      const std::uint64_t start = 2100 + 100 * piece + number;
      thread.data("pwrite", start, start + 50, 1, 100, 100 * static_cast<int>(piece), 1);
    }
    thread.mpi("File_write_all", 2000, 4000 + number,
               {{Role::kFile, wire::handleSlot(1)},
                {Role::kComm, 1},
                {Role::kSize, 100},
                {Role::kSeq, 1}});
    thread.data("pwrite", 5000, 5100, 1, 100, 9000);
  }
  const Kept kept = scheduleOf(ranks);
  std::size_t edges = 0;
  for (const auto& thread : kept.threads) {
    for (const ScheduleEvent& event : thread) edges += event.after.size();
  }
  // From each writer's last call to those that wait for it by themselves or to one step, and from
  // there to each rank.
  EXPECT_LE(edges, static_cast<std::size_t>(13 * kRanks));
  // A rank that did not write waits for the last call of each writer, by itself or behind steps
  // that do.
  std::map<std::uint64_t, std::pair<std::size_t, std::size_t>> places;
  for (std::size_t i = 0; i < kept.threads.size(); ++i) {
    for (std::size_t at = 0; at < kept.threads[i].size(); ++at) {
      if (kept.threads[i][at].id != 0) places[kept.threads[i][at].id] = {i, at};
    }
  }
  std::vector<std::size_t> reached(kept.threads.size());  // calls of each thread that come before
  std::vector<std::pair<std::size_t, std::size_t>> next{
      {kept.threads.size() - 1, kept.threads.back().size() - 1}};
  while (!next.empty()) {
    const auto [thread, last] = next.back();
    next.pop_back();
    for (; reached[thread] <= last; ++reached[thread]) {
      for (const model::Wait& wait : kept.threads[thread][reached[thread]].after) {
        next.push_back(places.at(wait.id));
      }
    }
  }
  for (std::size_t writer = 0; writer < kWriters; ++writer) {
    EXPECT_GE(reached[writer], 11U) << writer;  // its open, and ten pieces
  }
}

}  // namespace
}  // namespace omnio::preprocess
