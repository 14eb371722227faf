// Calls of all of a group, epochs of windows and neighbourhoods in the matched picture, with the
// truth stated by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/wire/info.hpp"
#include "tests/core/mpi_trace.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio {
namespace {

using calls::Role;
using test::listOf;
using test::MpiTrace;
using wire::DoneRequest;
using wire::Member;
using Lines = std::vector<std::string>;

// How many members the collective calls of a picture have room for, by how they were matched.
class Members final : public order::MpiPictureSink {
 public:
  void seen(std::uint64_t, const order::MpiEventRef&, const event::Event&) override {}
  void settled(const order::MatchedEvent& event) override {
    for (const order::EventPart& part : event.parts) {
      const order::MpiCollective* collective = part.operation->collective;
      if (collective == nullptr) continue;
      most[part.operation->match] =
          std::max(most[part.operation->match],
                   collective->by_member.size() + collective->last_below.size());
    }
  }
  std::map<order::Match, std::size_t> most;
};

TEST(MpiCollectives, ABarrierWaitsForTheLast) {
  MpiTrace trace(3);
  trace.barrier(0, 1, 100, 520);
  trace.barrier(1, 1, 500, 515);
  trace.barrier(2, 1, 300, 518);
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 Barrier waited=400 own=20 late=1 with 2.0#1 1.0#1",
                                    "1.0#1 Barrier waited=0 own=15 with 0.0#1 2.0#1",
                                    "2.0#1 Barrier waited=200 own=18 late=1 with 0.0#1 1.0#1"}));
  EXPECT_EQ(trace.counts.collectives.at("MPI_Barrier").matched(), 3U);
}

TEST(MpiCollectives, WhoLeftBeforeTheLastCameDidNotWaitForIt) {
  MpiTrace trace(3);
  const auto close = [&](int rank, std::uint64_t start, std::uint64_t end) {
    trace.call(rank, "Comm_free", start, end, {{Role::kComm, 1}, {Role::kSeq, 1}});
  };
  close(0, 100, 150);
  close(1, 120, 160);
  close(2, 900, 910);
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 Comm_free waited=20 own=30 late=1 with 1.0#1 2.0#1",
                                    "1.0#1 Comm_free waited=0 own=40 with 0.0#1 2.0#1",
                                    "2.0#1 Comm_free waited=0 own=10 with 0.0#1 1.0#1"}));
}

TEST(MpiCollectives, ClocksOfNodesAreAllowedTheirResidual) {
  MpiTrace trace(2);
  trace.onNode(1, "another");
  trace.barrier(0, 1, 100'000, 495'000);  // true: rank 1 came before the end
  trace.barrier(1, 1, 500'000, 505'000);
  EXPECT_EQ(trace.picture()[0], "0.0#1 Barrier waited=395000 own=0 late=1 with 1.0#1");
  MpiTrace same_node(2);
  same_node.barrier(0, 1, 100'000, 495'000);
  same_node.barrier(1, 1, 500'000, 505'000);
  EXPECT_EQ(same_node.picture()[0], "0.0#1 Barrier waited=0 own=395000 with 1.0#1");
}

TEST(MpiCollectives, RootedCallsWaitOneWay) {
  MpiTrace trace(3);
  const auto rooted = [&](std::string_view call, int seq, int rank, std::uint64_t start,
                          std::uint64_t end) {
    trace.call(rank, call, start, end,
               {{Role::kComm, 1}, {Role::kRoot, 1}, {Role::kSize, 8}, {Role::kSeq, seq}});
  };
  rooted("Bcast", 1, 0, 100, 320);
  rooted("Bcast", 1, 1, 300, 310);
  rooted("Bcast", 1, 2, 400, 405);
  rooted("Reduce", 2, 0, 500, 505);
  rooted("Reduce", 2, 1, 510, 730);
  rooted("Reduce", 2, 2, 700, 705);
  const Lines lines = trace.picture();
  EXPECT_EQ(lines[0], "0.0#1 Bcast waited=200 own=20 late=1 with 1.0#1 2.0#1");
  EXPECT_EQ(lines[1], "0.0#2 Reduce waited=0 own=5 with 1.0#2 2.0#2");
  EXPECT_EQ(lines[2], "1.0#1 Bcast waited=0 own=10 with 0.0#1 2.0#1");
  EXPECT_EQ(lines[3], "1.0#2 Reduce waited=190 own=30 late=2 with 0.0#2 2.0#2");
  EXPECT_EQ(lines[4], "2.0#1 Bcast waited=0 own=5 with 0.0#1 1.0#1");
  EXPECT_EQ(lines[5], "2.0#2 Reduce waited=0 own=5 with 0.0#2 1.0#2");
}

TEST(MpiCollectives, LargeRootedCallsWaitTheOtherWayTooWhereTheyStayed) {
  MpiTrace trace(16);
  for (int rank = 0; rank < 16; ++rank) {
    // Rank 3 comes last, but takes the data of another one than the root; 4 takes it of the root.
    const std::uint64_t start = rank == 0 ? 100 : rank == 3 ? 500 : rank == 4 ? 400 : 90;
    trace.call(rank, "Bcast", start, 600,
               {{Role::kComm, 1}, {Role::kRoot, 0}, {Role::kSize, 1 << 20}, {Role::kSeq, 1}});
  }
  EXPECT_TRUE(trace.picture()[0].starts_with("0.0#1 Bcast waited=300 own=200 late=4"))
      << trace.picture()[0];
}

TEST(MpiCollectives, AScanWaitsForLowerRanksAlone) {
  MpiTrace trace(3);
  const auto scan = [&](int rank, std::uint64_t start, std::uint64_t end) {
    trace.call(rank, "Scan", start, end, {{Role::kComm, 1}, {Role::kSize, 8}, {Role::kSeq, 1}});
  };
  scan(0, 100, 110);
  scan(1, 600, 620);
  scan(2, 200, 630);
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 Scan waited=0 own=10 with 2.0#1 1.0#1",
                                    "1.0#1 Scan waited=0 own=20 with 0.0#1 2.0#1",
                                    "2.0#1 Scan waited=400 own=30 late=1 with 0.0#1 1.0#1"}));
}

TEST(MpiCollectives, ANeighbourhoodWaitsForItsSources) {
  MpiTrace trace(3);
  trace.group(3, "c0", {0, 1, 2});
  trace.fact(0, std::string(wire::info::kGroupPrefix) + "3" + wire::info::kSourcesSuffix, "1");
  trace.fact(1, std::string(wire::info::kGroupPrefix) + "3" + wire::info::kSourcesSuffix, "0 2");
  trace.fact(2, std::string(wire::info::kGroupPrefix) + "3" + wire::info::kSourcesSuffix, "");
  const auto exchange = [&](int rank, std::uint64_t start, std::uint64_t end) {
    trace.call(rank, "Neighbor_allgather", start, end,
               {{Role::kComm, 3}, {Role::kSize, 8}, {Role::kSeq, 1}});
  };
  exchange(0, 100, 320);
  exchange(1, 300, 720);
  exchange(2, 700, 710);
  EXPECT_EQ(trace.picture(),
            (Lines{"0.0#1 Neighbor_allgather waited=200 own=20 late=1 with 1.0#1 2.0#1",
                   "1.0#1 Neighbor_allgather waited=400 own=20 late=2 with 0.0#1 2.0#1",
                   "2.0#1 Neighbor_allgather waited=0 own=10 with 0.0#1 1.0#1"}));
}

TEST(MpiCollectives, ANonblockingOneIsWaitedForWhereItIsFoundComplete) {
  MpiTrace trace(2);
  for (const int rank : {0, 1}) {
    const auto start = static_cast<std::uint64_t>(rank == 0 ? 100 : 500);
    trace.call(rank, "Iallreduce", start, start + 5,
               {{Role::kComm, 1}, {Role::kSize, 8}, {Role::kSeq, 1}, {Role::kRequest, 3}});
  }
  trace.call(0, "Wait", 200, 520, {}, listOf({DoneRequest{.request = 3}}));
  trace.call(1, "Wait", 510, 525, {}, listOf({DoneRequest{.request = 3}}));
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 Iallreduce waited=0 own=5 with 1.0#1",
                                    "0.0#2 Wait waited=300 own=20 late=1 with 1.0#1",
                                    "1.0#1 Iallreduce waited=0 own=5 with 0.0#1",
                                    "1.0#2 Wait waited=0 own=15 with 0.0#1"}));
}

TEST(MpiCollectives, AWaitallOfMessagesAndACollectiveWaitsForTheLatestOfAll) {
  MpiTrace trace(3);
  for (int rank = 0; rank < 3; ++rank) {
    const auto start = static_cast<std::uint64_t>(100 + 100 * rank);
    trace.call(rank, "Ibarrier", start, start + 5,
               {{Role::kComm, 1}, {Role::kSeq, 1}, {Role::kRequest, 3}});
  }
  trace.call(0, "Irecv", 110, 111, {{Role::kComm, 1}, {Role::kPeer, 1}, {Role::kRequest, 4}});
  trace.call(0, "Waitall", 120, 260 + 100, {},
             listOf({DoneRequest{.request = 3}, DoneRequest{.request = 4,
                                                            .kind = DoneRequest::kReceived,
                                                            .comm = 1,
                                                            .source = 1,
                                                            .seq = 1,
                                                            .bytes = 8}}));
  trace.send(1, 0, 1, 250, 251);
  EXPECT_EQ(trace.picture()[2], "0.0#3 Waitall waited=180 own=60 late=2 with 1.0#1 2.0#1 1.0#2");
}

TEST(MpiCollectives, AMissingMemberIsSaidAndItsWaitingIsNotGuessed) {
  MpiTrace trace(3, {2});
  trace.barrier(0, 1, 100, 520);
  trace.barrier(1, 1, 200, 520);
  EXPECT_EQ(trace.picture(),
            (Lines{"0.0#1 Barrier [a rank that was not traced] waited=? with 1.0#1",
                   "1.0#1 Barrier [a rank that was not traced] waited=? with 0.0#1"}));
  MpiTrace killed(2);
  killed.barrier(0, 1, 100, 120);
  killed.barrier(1, 1, 110, 120);
  killed.barrier(0, 2, 200, 900);
  EXPECT_EQ(killed.picture()[1],
            "0.0#2 Barrier [the counterpart is not in its rank's log] waited=?");
  EXPECT_EQ(killed.counts.collectives.at("MPI_Barrier").unmatched(), 1U);
}

// Each call on it would cost as much as the group has members.
TEST(MpiCollectives, AGroupThatADamagedTraceMakesHugeCostsNothing) {
  MpiTrace trace(2);
  trace.fact(0, std::string(wire::info::kGroupPrefix) + "3", "ab 0 4194304 0 0 comm");
  const auto scan = [&](int rank, int comm, std::uint64_t start) {
    trace.call(rank, "Scan", start, start + 5,
               {{Role::kComm, comm}, {Role::kSize, 8}, {Role::kSeq, 1}});
  };
  scan(0, 1, 100);
  scan(1, 1, 100);
  scan(0, 3, 200);
  const test::TemporaryDirectory directory;
  trace.save(directory.path());
  const base::Result<tracefile::Trace> read = tracefile::Trace::open(directory.path());
  ASSERT_TRUE(read);
  event::PathTable paths;
  Members members;
  order::readMpiPicture(*read, order::mpiGroupsOf(*read), paths, members);
  EXPECT_EQ(members.most, (std::map<order::Match, std::size_t>{{order::Match::kMatched, 4},
                                                               {order::Match::kNotInTrace, 0}}));
}

TEST(MpiCollectives, DifferentCallsOfOneNumberDoNotBelongTogether) {
  MpiTrace trace(2);
  trace.barrier(0, 1, 100, 120);
  trace.call(1, "Allreduce", 100, 120, {{Role::kComm, 1}, {Role::kSize, 8}, {Role::kSeq, 1}});
  EXPECT_EQ(trace.picture()[0],
            "0.0#1 Barrier [the counterpart is not in its rank's log] waited=? with 1.0#1");
}

TEST(MpiCollectives, EpochsOfAWindowGoByTargetAndOrigin) {
  MpiTrace trace(3);
  trace.group(2, "ab", {0, 1, 2}, "window");
  const auto epoch = [&](int rank, std::string_view call, std::uint64_t start, std::uint64_t end,
                         std::vector<std::uint64_t> members) {
    trace.call(rank, call, start, end, {{Role::kComm, 2}}, std::move(members));
  };
  // Rank 0 is the target of 1 and 2; rank 2 the target of 1 at the same time.
  epoch(0, "Win_post", 300, 305, listOf({Member{1, 1}, Member{2, 1}}));
  epoch(0, "Win_wait", 310, 760, listOf({Member{1, 1}, Member{2, 1}}));
  epoch(1, "Win_start", 100, 320, listOf({Member{0, 1}, Member{2, 1}}));
  epoch(1, "Win_complete", 330, 340, listOf({Member{0, 1}, Member{2, 1}}));
  epoch(2, "Win_post", 200, 205, listOf({Member{1, 1}}));
  epoch(2, "Win_start", 210, 212, listOf({Member{0, 1}}));
  epoch(2, "Win_complete", 740, 745, listOf({Member{0, 1}}));
  epoch(2, "Win_wait", 750, 752, listOf({Member{1, 1}}));
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 Win_post waited=0 own=5 with 1.0#1 2.0#2",
                                    "0.0#2 Win_wait waited=430 own=20 late=2 with 1.0#2 2.0#3",
                                    "1.0#1 Win_start waited=200 own=20 late=0 with 0.0#1 2.0#1",
                                    "1.0#2 Win_complete waited=0 own=10 with 0.0#2 2.0#4",
                                    "2.0#1 Win_post waited=0 own=5 with 1.0#1",
                                    "2.0#2 Win_start waited=0 own=2 with 0.0#1",
                                    "2.0#3 Win_complete waited=0 own=5 with 0.0#2",
                                    "2.0#4 Win_wait waited=0 own=2 with 1.0#2"}));
  EXPECT_EQ(trace.counts.epochs.matched(), 12U);
}

TEST(MpiCollectives, AStartThatDoesNotWaitLeavesItToTheComplete) {
  MpiTrace trace(2);
  trace.group(2, "ab", {0, 1}, "window");
  trace.call(1, "Win_start", 100, 102, {{Role::kComm, 2}}, listOf({Member{0, 1}}));
  trace.call(1, "Win_complete", 110, 520, {{Role::kComm, 2}}, listOf({Member{0, 1}}));
  trace.call(0, "Win_post", 500, 501, {{Role::kComm, 2}}, listOf({Member{1, 1}}));
  trace.call(0, "Win_wait", 502, 530, {{Role::kComm, 2}}, listOf({Member{1, 1}}));
  const Lines lines = trace.picture();
  EXPECT_EQ(lines[2], "1.0#1 Win_start waited=0 own=2 with 0.0#1");
  EXPECT_EQ(lines[3], "1.0#2 Win_complete waited=390 own=20 late=0 with 0.0#2");
}

TEST(MpiCollectives, FailedCallsStandAlone) {
  MpiTrace trace(2);
  trace.failed(0, "Barrier", 100, 110, {{Role::kComm, 1}, {Role::kSeq, 0}});
  trace.failed(0, "Send", 120, 130, {{Role::kComm, 1}, {Role::kPeer, 1}});
  EXPECT_EQ(trace.picture(),
            (Lines{"0.0#1 Barrier waited=0 own=10", "0.0#2 Send waited=0 own=10"}));
}

}  // namespace
}  // namespace omnio
