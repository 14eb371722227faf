// Nonblocking and persistent messages in the matched picture, found complete in each way.
#include <gtest/gtest.h>

#include "tests/core/mpi_requests_testing.hpp"

namespace omnio {
namespace {

using calls::kAnySource;
using calls::Role;
using test::done;
using test::irecv;
using test::isend;
using test::listOf;
using test::MpiTrace;
using test::received;
using wire::BegunRequest;
using wire::DoneRequest;
using Lines = std::vector<std::string>;

TEST(MpiRequests, AWaitWaitsForWhatItsRequestIsAbout) {
  MpiTrace trace(2);
  irecv(trace, 1, 0, 1, 100, 105);
  trace.call(1, "Wait", 200, 540, {}, listOf({received(1, 0, 1)}));
  isend(trace, 0, 1, 1, 7, 500, 510);
  trace.call(0, "Wait", 520, 525, {}, listOf({done(7)}));
  EXPECT_EQ(trace.picture(),
            (Lines{"0.0#1 Isend waited=0 own=10 with 1.0#1", "0.0#2 Wait waited=0 own=5 with 1.0#1",
                   "1.0#1 Irecv waited=0 own=5 with 0.0#1",
                   "1.0#2 Wait waited=300 own=40 late=0 with 0.0#1"}));
}

TEST(MpiRequests, AWaitForALargeSendWaitsUntilTheReceiveIsPosted) {
  MpiTrace trace(2);
  isend(trace, 0, 1, 1, 7, 100, 110);
  trace.call(0, "Wait", 120, 650, {}, listOf({done(7)}));
  irecv(trace, 1, 0, 1, 600, 605);
  trace.call(1, "Wait", 640, 660, {}, listOf({received(1, 0, 1)}));
  EXPECT_EQ(trace.picture()[1], "0.0#2 Wait waited=480 own=50 late=1 with 1.0#1");
}

TEST(MpiRequests, AWaitWaitsForTheLatestOfThoseItFound) {
  MpiTrace trace(4);
  for (int from = 1; from <= 3; ++from) irecv(trace, 0, from, from, 10, 11);
  trace.call(0, "Waitall", 20, 420, {},
             listOf({received(1, 1, 1), received(2, 2, 1), received(3, 3, 1)}));
  for (int from = 1; from <= 3; ++from) irecv(trace, 0, from, 3 + from, 500, 501);
  trace.call(0, "Waitany", 510, 620, {}, listOf({received(5, 2, 2)}));
  trace.call(0, "Waitsome", 630, 740, {}, listOf({received(4, 1, 2), received(6, 3, 2)}));
  trace.send(1, 0, 1, 100, 101);
  trace.send(2, 0, 1, 400, 401);
  trace.send(3, 0, 1, 200, 201);
  trace.send(1, 0, 2, 725, 726);
  trace.send(2, 0, 2, 600, 601);
  trace.send(3, 0, 2, 730, 731);
  const Lines lines = trace.picture();
  EXPECT_EQ(lines[3], "0.0#4 Waitall waited=380 own=20 late=2 with 1.0#1 2.0#1 3.0#1");
  EXPECT_EQ(lines[7], "0.0#8 Waitany waited=90 own=20 late=2 with 2.0#2");
  EXPECT_EQ(lines[8], "0.0#9 Waitsome waited=100 own=10 late=3 with 1.0#2 3.0#2");
}

TEST(MpiRequests, ATestWaitedSinceTheFirstThatFoundNothing) {
  MpiTrace trace(2);
  irecv(trace, 1, 0, 1, 100, 105);
  trace.send(0, 1, 1, 400, 410);
  trace.call(1, "Testsome", 300, 415, {}, listOf({received(1, 0, 1)}));
  EXPECT_EQ(trace.picture()[2], "1.0#2 Testsome waited=100 own=15 late=0 with 0.0#1");
}

TEST(MpiRequests, MoreCompletionsThanARecordHoldsBelongToTheCallBefore) {
  MpiTrace trace(2);
  trace.send(0, 1, 1, 10, 11);
  trace.send(0, 1, 2, 300, 301);
  irecv(trace, 1, 0, 1, 100, 105);
  irecv(trace, 1, 0, 2, 110, 115);
  trace.call(1, "Waitall", 200, 310, {}, listOf({received(1, 0, 1)}));
  trace.call(1, "(completed)", 310, 310, {}, listOf({received(2, 0, 2)}));
  trace.receive(1, 0, 3, 400, 401);
  trace.send(0, 1, 3, 390, 391);
  const Lines lines = trace.picture();
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_EQ(lines[5], "1.0#3 Waitall waited=100 own=10 late=0 with 0.0#1 0.0#2");
  EXPECT_EQ(lines[6], "1.0#4 Recv waited=0 own=1 with 0.0#3");
}

TEST(MpiRequests, MoreStartsThanARecordHoldsBelongToTheCallBefore) {
  MpiTrace trace(2);
  const auto to_1 = [](std::uint64_t seq) {
    return BegunRequest{
        .request = seq, .kind = BegunRequest::kSend, .comm = 1, .peer = 1, .bytes = 8, .seq = seq};
  };
  trace.call(0, "Startall", 10, 20, {}, listOf({to_1(1)}));
  trace.call(0, "(begun)", 20, 20, {}, listOf({to_1(2)}));
  trace.call(0, "Waitall", 30, 31, {}, listOf({done(1), done(2)}));
  trace.receive(1, 0, 1, 100, 101);
  trace.receive(1, 0, 2, 110, 111);
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 Startall waited=0 own=10 with 1.0#1 1.0#2",
                                    "0.0#2 Waitall waited=0 own=1 with 1.0#1 1.0#2",
                                    "1.0#1 Recv waited=0 own=1 with 0.0#1",
                                    "1.0#2 Recv waited=0 own=1 with 0.0#1"}));
}

TEST(MpiRequests, ReceivesAreNumberedAsTheyWerePostedNotAsTheyWereFound) {
  MpiTrace trace(2);
  trace.send(0, 1, 1, 10, 11);
  trace.send(0, 1, 2, 20, 21);
  trace.send(0, 1, 3, 30, 31);
  irecv(trace, 1, 0, 1, 110, 111);
  irecv(trace, 1, 0, 2, 120, 121);
  irecv(trace, 1, 0, 3, 130, 131);
  // Found in the order 3, 1, 2, and numbered so.
  trace.call(1, "Wait", 200, 201, {}, listOf({received(3, 0, 1)}));
  trace.call(1, "Wait", 210, 211, {}, listOf({received(1, 0, 2)}));
  trace.call(1, "Wait", 220, 221, {}, listOf({received(2, 0, 3)}));
  EXPECT_EQ(trace.picture(),
            (Lines{"0.0#1 Send waited=0 own=1 with 1.0#1", "0.0#2 Send waited=0 own=1 with 1.0#2",
                   "0.0#3 Send waited=0 own=1 with 1.0#3", "1.0#1 Irecv waited=0 own=1 with 0.0#1",
                   "1.0#2 Irecv waited=0 own=1 with 0.0#2", "1.0#3 Irecv waited=0 own=1 with 0.0#3",
                   "1.0#4 Wait waited=0 own=1 with 0.0#3", "1.0#5 Wait waited=0 own=1 with 0.0#1",
                   "1.0#6 Wait waited=0 own=1 with 0.0#2"}));
}

TEST(MpiRequests, ReceivesFromAnyoneThatCompleteOutOfOrderFindTheirMessages) {
  MpiTrace trace(3);
  // Rank 1's two messages and rank 2's one, to three receives: any, any, from 1.
  trace.send(1, 0, 1, 10, 11);
  trace.send(1, 0, 2, 40, 41);
  trace.send(2, 0, 1, 20, 21);
  irecv(trace, 0, kAnySource, 1, 100, 101);
  irecv(trace, 0, kAnySource, 2, 110, 111);
  irecv(trace, 0, 1, 3, 120, 121);
  // In truth: request 1 got rank 1's first, request 2 rank 2's, request 3 rank 1's second.
  trace.call(0, "Wait", 200, 201, {}, listOf({received(3, 1, 1)}));
  trace.call(0, "Waitall", 210, 211, {}, listOf({received(1, 1, 2), received(2, 2, 1)}));
  const Lines lines = trace.picture();
  EXPECT_EQ(lines[0], "0.0#1 Irecv waited=0 own=1 with 1.0#1");
  EXPECT_EQ(lines[1], "0.0#2 Irecv waited=0 own=1 with 2.0#1");
  EXPECT_EQ(lines[2], "0.0#3 Irecv waited=0 own=1 with 1.0#2");
  EXPECT_EQ(lines[3], "0.0#4 Wait waited=0 own=1 with 1.0#2");
  EXPECT_EQ(lines[4], "0.0#5 Waitall waited=0 own=1 with 1.0#1 2.0#1");
}

TEST(MpiRequests, PersistentRequestsAreAnewWhatTheyAreAtEachStart) {
  MpiTrace trace(2);
  const BegunRequest receive{.request = 1, .kind = BegunRequest::kReceive, .comm = 1, .peer = 0};
  BegunRequest send{
      .request = 9, .kind = BegunRequest::kSend, .comm = 1, .peer = 1, .bytes = 8, .seq = 1};
  BegunRequest again = receive;
  again.request = 2;
  trace.call(1, "Start", 100, 101, {}, listOf({receive}));
  trace.call(1, "Wait", 110, 160, {}, listOf({received(1, 0, 1)}));
  trace.call(1, "Startall", 200, 201, {}, listOf({again}));
  trace.call(1, "Wait", 210, 260, {}, listOf({received(2, 0, 2)}));
  trace.call(0, "Start", 150, 151, {}, listOf({send}));
  trace.call(0, "Wait", 152, 153, {}, listOf({done(9)}));
  send.seq = 2;
  send.request = 10;
  trace.call(0, "Start", 240, 241, {}, listOf({send}));
  trace.call(0, "Wait", 242, 243, {}, listOf({done(10)}));
  EXPECT_EQ(trace.picture(),
            (Lines{"0.0#1 Start waited=0 own=1 with 1.0#1", "0.0#2 Wait waited=0 own=1 with 1.0#1",
                   "0.0#3 Start waited=0 own=1 with 1.0#3", "0.0#4 Wait waited=0 own=1 with 1.0#3",
                   "1.0#1 Start waited=0 own=1 with 0.0#1",
                   "1.0#2 Wait waited=40 own=10 late=0 with 0.0#1",
                   "1.0#3 Startall waited=0 own=1 with 0.0#3",
                   "1.0#4 Wait waited=30 own=20 late=0 with 0.0#3"}));
}

TEST(MpiRequests, ACancelledReceiveTakesNoMessage) {
  MpiTrace trace(2);
  irecv(trace, 1, kAnySource, 1, 100, 101);
  irecv(trace, 1, 0, 2, 110, 111);
  trace.call(1, "Wait", 200, 210, {}, listOf({received(2, 0, 1)}));
  trace.call(1, "Cancel", 220, 221, {{Role::kRequest, 1}});
  trace.call(1, "Wait", 230, 231, {},
             listOf({DoneRequest{.request = 1, .kind = DoneRequest::kCancelled}}));
  trace.send(0, 1, 1, 50, 51);
  EXPECT_EQ(trace.picture(),
            (Lines{"0.0#1 Send waited=0 own=1 with 1.0#2", "1.0#1 Irecv waited=0 own=1",
                   "1.0#2 Irecv waited=0 own=1 with 0.0#1", "1.0#3 Wait waited=0 own=10 with 0.0#1",
                   "1.0#4 Cancel waited=0 own=1", "1.0#5 Wait waited=0 own=1"}));
  EXPECT_EQ(trace.counts.receives.unmatched(), 0U);
}

TEST(MpiRequests, ThreadsOfARankShareTheOrderOfItsReceives) {
  MpiTrace trace(2);
  // Thread 0 posted first and came back last: the first message is its.
  trace.call({1, 0}, "Recv", 100, 320,
             {{Role::kComm, 1}, {Role::kPeer, 0}, {Role::kGot, 8}, {Role::kSeq, 2}});
  trace.call({1, 1}, "Recv", 150, 310,
             {{Role::kComm, 1}, {Role::kPeer, 0}, {Role::kGot, 8}, {Role::kSeq, 1}});
  trace.send(0, 1, 1, 200, 201);
  trace.send(0, 1, 2, 300, 301);
  EXPECT_EQ(trace.picture(),
            (Lines{"0.0#1 Send waited=0 own=1 with 1.0#1", "0.0#2 Send waited=0 own=1 with 1.1#1",
                   "1.0#1 Recv waited=100 own=120 late=0 with 0.0#1",
                   "1.1#1 Recv waited=150 own=10 late=0 with 0.0#2"}));
}

TEST(MpiRequests, ARequestMayBeFoundCompleteByAnotherThread) {
  MpiTrace trace(2);
  irecv(trace, {1, 0}, 0, 4, 100, 105);
  trace.call({1, 1}, "Wait", 110, 260, {}, listOf({received(4, 0, 1)}));
  trace.send(0, 1, 1, 250, 251);
  EXPECT_EQ(trace.picture(),
            (Lines{"0.0#1 Send waited=0 own=1 with 1.0#1", "1.0#1 Irecv waited=0 own=5 with 0.0#1",
                   "1.1#1 Wait waited=140 own=10 late=0 with 0.0#1"}));
}

}  // namespace
}  // namespace omnio
