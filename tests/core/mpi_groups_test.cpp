// The matched picture puts each call into its group: overlapping communicators, two sides, calls
// that make a communicator, windows and files.
#include <gtest/gtest.h>

#include "core/wire/info.hpp"
#include "tests/core/mpi_trace.hpp"

namespace omnio {
namespace {

using calls::Role;
using test::MpiTrace;
using Lines = std::vector<std::string>;

using calls::kIntercommRoot;
using calls::kProcNull;

TEST(MpiGroups, OverlappingCommunicatorsWithTheSameNumbersStayApart) {
  MpiTrace trace(4);
  trace.group(2, "d0", {0, 1, 2});
  trace.group(3, "d1", {1, 2, 3});
  trace.barrier(0, 1, 100, 210, 2);
  trace.barrier(1, 1, 200, 210, 2);
  trace.barrier(2, 1, 150, 210, 2);
  trace.barrier(1, 1, 300, 460, 3);
  trace.barrier(2, 1, 310, 460, 3);
  trace.barrier(3, 1, 450, 460, 3);
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 Barrier waited=100 own=10 late=1 with 2.0#1 1.0#1",
                                    "1.0#1 Barrier waited=0 own=10 with 0.0#1 2.0#1",
                                    "1.0#2 Barrier waited=150 own=10 late=3 with 2.0#2 3.0#1",
                                    "2.0#1 Barrier waited=50 own=10 late=1 with 0.0#1 1.0#1",
                                    "2.0#2 Barrier waited=140 own=10 late=3 with 1.0#2 3.0#1",
                                    "3.0#1 Barrier waited=0 own=10 with 1.0#2 2.0#2"}));
}

TEST(MpiGroups, CallsBySomeOfACommunicatorGoByTheNewOnesMembers) {
  MpiTrace trace(4);
  trace.group(2, "e0", {0, 2});
  trace.group(2, "e1", {1, 3});
  const auto create = [&](int rank, std::uint64_t start, std::uint64_t end) {
    trace.call(rank, "Comm_create_group", start, end, {{Role::kComm, 1}, {Role::kNewComm, 2}});
  };
  create(0, 100, 310);
  create(2, 300, 310);
  create(1, 100, 210);
  create(3, 200, 210);
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 Comm_create_group waited=200 own=10 late=2 with 2.0#1",
                                    "1.0#1 Comm_create_group waited=100 own=10 late=3 with 3.0#1",
                                    "2.0#1 Comm_create_group waited=0 own=10 with 0.0#1",
                                    "3.0#1 Comm_create_group waited=0 own=10 with 1.0#1"}));
}

TEST(MpiGroups, IntercommunicatorsHaveTwoSides) {
  MpiTrace trace(4);
  trace.intercommunicator(2, "f0", {0, 1}, {2, 3});
  // Rank 1 of side 0 (world 1) to rank 0 of side 1 (world 2), and the other way round.
  trace.send(1, 0, 1, 10, 11, 0, 2);
  trace.receive(2, 1, 1, 5, 20, 0, 2);
  trace.send(2, 1, 1, 30, 31, 0, 2);
  trace.receive(1, 0, 1, 25, 40, 0, 2);
  const auto bcast = [&](int rank, std::int64_t root, std::uint64_t start, std::uint64_t end) {
    trace.call(rank, "Bcast", start, end, {{Role::kComm, 2}, {Role::kRoot, root}, {Role::kSeq, 1}});
  };
  bcast(0, kIntercommRoot, 500, 505);
  bcast(1, kProcNull, 100, 101);
  bcast(2, 0, 100, 520);
  bcast(3, 0, 510, 520);
  EXPECT_EQ(
      trace.picture(),
      (Lines{"0.0#1 Bcast waited=0 own=5 with 1.0#3 2.0#3 3.0#1",
             "1.0#1 Send waited=0 own=1 with 2.0#1", "1.0#2 Recv waited=5 own=10 late=2 with 2.0#2",
             "1.0#3 Bcast waited=0 own=1 with 2.0#3 0.0#1 3.0#1",
             "2.0#1 Recv waited=5 own=10 late=1 with 1.0#1", "2.0#2 Send waited=0 own=1 with 1.0#2",
             "2.0#3 Bcast waited=400 own=20 late=0 with 1.0#3 0.0#1 3.0#1",
             "3.0#1 Bcast waited=0 own=10 with 1.0#3 2.0#3 0.0#1"}));
}

// By MPI-3.1, section 5.2.3, a rank needs to wait for the other side alone; Open MPI's barrier,
// allreduce and allgather wait for the own side too, its alltoall does not. Who waited shows in
// when it ended.
TEST(MpiGroups, TheOwnSideOfAnIntercommunicatorIsWaitedForWhereTheCallLastsThatLong) {
  MpiTrace trace(4);
  trace.intercommunicator(2, "f0", {0, 1}, {2, 3});
  const auto call = [&](std::string_view name, int seq, int rank, std::uint64_t start,
                        std::uint64_t end) {
    trace.call(rank, name, start, end, {{Role::kComm, 2}, {Role::kSeq, seq}});
  };
  for (const int rank : {0, 2, 3}) call("Barrier", 1, rank, 100, 320);
  call("Barrier", 1, 1, 300, 310);
  call("Alltoall", 2, 0, 400, 410);
  for (const int rank : {2, 3}) call("Alltoall", 2, rank, 400, 620);
  call("Alltoall", 2, 1, 600, 610);
  const Lines lines = trace.picture();
  EXPECT_EQ(lines[0], "0.0#1 Barrier waited=200 own=20 late=1 with 2.0#1 3.0#1 1.0#1");
  EXPECT_EQ(lines[1], "0.0#2 Alltoall waited=0 own=10 with 2.0#2 3.0#2 1.0#2");
  EXPECT_EQ(lines[5], "2.0#2 Alltoall waited=200 own=20 late=1 with 0.0#2 3.0#2 1.0#2");
}

TEST(MpiGroups, ARootThatIsNoRankIsNobody) {
  MpiTrace trace(4);
  trace.intercommunicator(2, "f0", {0, 1}, {2, 3});
  for (const std::int64_t root : {std::int64_t{2}, std::int64_t{0x7FFFFFFF}}) {
    const auto seq = root == 2 ? 1 : 2;
    for (int rank = 0; rank < 4; ++rank) {
      const auto start = static_cast<std::uint64_t>(1000 * seq + 10 * rank);
      trace.call(rank, "Bcast", start, start + 100,
                 {{Role::kComm, 2}, {Role::kRoot, root}, {Role::kSeq, seq}});
    }
  }
  for (const std::string& line : trace.picture()) {
    EXPECT_NE(line.find(" waited=0 own=100 "), std::string::npos) << line;
  }
}

TEST(MpiGroups, FilesAndWindowsAreGroupsToo) {
  MpiTrace trace(2);
  trace.group(2, "aa", {0, 1}, "window");
  trace.call(0, "Win_fence", 100, 310, {{Role::kComm, 2}, {Role::kSeq, 1}});
  trace.call(1, "Win_fence", 300, 310, {{Role::kComm, 2}, {Role::kSeq, 1}});
  trace.call(0, "Put", 320, 321, {{Role::kComm, 2}, {Role::kPeer, 1}, {Role::kSize, 8}});
  EXPECT_EQ(trace.picture(),
            (Lines{"0.0#1 Win_fence waited=200 own=10 late=1 with 1.0#1",
                   "0.0#2 Put waited=0 own=1", "1.0#1 Win_fence waited=0 own=10 with 0.0#1"}));
}

TEST(MpiGroups, FactsThatMakeNoSenseAreNoGroups) {
  MpiTrace trace(2);
  const std::string key = wire::info::kGroupPrefix;
  trace.fact(0, key + "2", "b0 0 2 0 0");       // no kind
  trace.fact(0, key + "3", "b1 5 2 0 0 comm");  // rank beyond its size
  trace.fact(0, key + "4", "b2 0 99999999999 0 0 comm");
  trace.fact(0, key + "5", "");
  trace.fact(0, key + "6", "g3 0 2 0 0 comm");  // no hexadecimal number
  trace.fact(0, key + "7", "b5 0 2 0 0 \xff");
  trace.fact(0, key + "x", "b3 0 2 0 0 comm");
  trace.fact(0, key + "999999999", "b4 0 2 0 0 comm");
  for (int comm = 2; comm <= 8; ++comm) {
    trace.send(0, 1, 1, static_cast<std::uint64_t>(10 * comm),
               static_cast<std::uint64_t>(10 * comm + 1), 0, comm);
  }
  const Lines lines = trace.picture();
  ASSERT_EQ(lines.size(), 7U);
  for (const std::string& line : lines) {
    EXPECT_EQ(line.substr(5),
              " Send [the trace does not say which group or message it was] waited=?");
  }
}

}  // namespace
}  // namespace omnio
