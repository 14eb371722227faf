// Messages in the matched picture: what belongs together and who waited for whom, with the truth
// stated by hand.
#include <gtest/gtest.h>

#include "tests/core/mpi_trace.hpp"

namespace omnio {
namespace {

using calls::Role;
using test::listOf;
using test::MpiTrace;
using wire::BegunRequest;
using wire::DoneRequest;
using Lines = std::vector<std::string>;

constexpr std::int64_t kAny = -1;
constexpr std::int64_t kProcNull = -2;

void irecv(MpiTrace& trace, MpiTrace::Place place, std::int64_t from, std::int64_t request,
           std::uint64_t start, std::uint64_t end, std::int64_t tag = 0) {
  trace.call(place, "Irecv", start, end,
             {{Role::kComm, 1}, {Role::kPeer, from}, {Role::kTag, tag}, {Role::kRequest, request}});
}

void isend(MpiTrace& trace, MpiTrace::Place place, std::int64_t to, std::int64_t seq,
           std::int64_t request, std::uint64_t start, std::uint64_t end, std::int64_t tag = 0) {
  trace.call(place, "Isend", start, end,
             {{Role::kComm, 1},
              {Role::kPeer, to},
              {Role::kTag, tag},
              {Role::kSize, 8},
              {Role::kSeq, seq},
              {Role::kRequest, request}});
}

DoneRequest received(std::uint64_t request, std::int64_t source, std::uint64_t seq,
                     std::int64_t tag = 0) {
  return {.request = request,
          .kind = DoneRequest::kReceived,
          .comm = 1,
          .source = source,
          .tag = tag,
          .seq = seq,
          .bytes = 8};
}

DoneRequest done(std::uint64_t request) { return {.request = request}; }

TEST(MpiMessages, AReceiveWaitsForALateSendAndAnEagerSendForNobody) {
  MpiTrace trace(2);
  trace.send(0, 1, 1, 500, 510);
  trace.receive(1, 0, 1, 100, 530);
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 Send waited=0 own=10 with 1.0#1",
                                    "1.0#1 Recv waited=400 own=30 late=0 with 0.0#1"}));
  EXPECT_EQ(trace.counts.sends.matched(), 1U);
  EXPECT_EQ(trace.counts.receives.matched(), 1U);
}

TEST(MpiMessages, ALargeSendWaitsUntilTheReceiveIsPosted) {
  MpiTrace trace(2);
  trace.send(0, 1, 1, 100, 700);  // ends after the receive came: it waited for it
  trace.send(0, 1, 2, 800, 810);  // ended before: it did not
  trace.receive(1, 0, 1, 600, 720);
  trace.receive(1, 0, 2, 900, 905);
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 Send waited=500 own=100 late=1 with 1.0#1",
                                    "0.0#2 Send waited=0 own=10 with 1.0#2",
                                    "1.0#1 Recv waited=0 own=120 with 0.0#1",
                                    "1.0#2 Recv waited=0 own=5 with 0.0#2"}));
}

TEST(MpiMessages, ASynchronousSendWaitsForItsReceive) {
  MpiTrace trace(2);
  trace.call(0, "Ssend", 100, 420,
             {{Role::kComm, 1}, {Role::kPeer, 1}, {Role::kSize, 8}, {Role::kSeq, 1}});
  trace.receive(1, 0, 1, 400, 430);
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 Ssend waited=300 own=20 late=1 with 1.0#1",
                                    "1.0#1 Recv waited=0 own=30 with 0.0#1"}));
}

TEST(MpiMessages, CallsByTheirPmpiNamesMatchTheOthers) {
  MpiTrace trace(2);
  trace.call(0, "PMPI_Send", 100, 110,
             {{Role::kComm, 1}, {Role::kPeer, 1}, {Role::kSize, 8}, {Role::kSeq, 1}});
  trace.receive(1, 0, 1, 150, 160);
  trace.call(0, "PMPI_Barrier", 200, 260, {{Role::kComm, 1}, {Role::kSeq, 1}});
  trace.barrier(1, 1, 250, 260);
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 PMPI_Send waited=0 own=10 with 1.0#1",
                                    "0.0#2 PMPI_Barrier waited=50 own=10 late=1 with 1.0#2",
                                    "1.0#1 Recv waited=0 own=10 with 0.0#1",
                                    "1.0#2 Barrier waited=0 own=10 with 0.0#2"}));
  EXPECT_EQ(trace.counts.collectives.at("MPI_Barrier").matched(), 2U);
}

TEST(MpiMessages, TagsAndCommunicatorsKeepStreamsApart) {
  MpiTrace trace(2);
  trace.group(3, "b0", {1, 0});  // the same two, the other way round
  trace.send(0, 1, 1, 10, 11, 5);
  trace.send(0, 1, 1, 20, 21, 6);
  trace.send(0, 0, 1, 30, 31, 5, 3);  // to rank 0 of b0, which is rank 1
  trace.receive(1, 1, 1, 100, 101, 5, 3);
  trace.receive(1, 0, 1, 110, 111, 6);
  trace.receive(1, 0, 1, 120, 121, 5);
  EXPECT_EQ(
      trace.picture(),
      (Lines{"0.0#1 Send waited=0 own=1 with 1.0#3", "0.0#2 Send waited=0 own=1 with 1.0#2",
             "0.0#3 Send waited=0 own=1 with 1.0#1", "1.0#1 Recv waited=0 own=1 with 0.0#3",
             "1.0#2 Recv waited=0 own=1 with 0.0#2", "1.0#3 Recv waited=0 own=1 with 0.0#1"}));
}

TEST(MpiMessages, AWaitWaitsForWhatItsRequestIsAbout) {
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

TEST(MpiMessages, AWaitForALargeSendWaitsUntilTheReceiveIsPosted) {
  MpiTrace trace(2);
  isend(trace, 0, 1, 1, 7, 100, 110);
  trace.call(0, "Wait", 120, 650, {}, listOf({done(7)}));
  irecv(trace, 1, 0, 1, 600, 605);
  trace.call(1, "Wait", 640, 660, {}, listOf({received(1, 0, 1)}));
  EXPECT_EQ(trace.picture()[1], "0.0#2 Wait waited=480 own=50 late=1 with 1.0#1");
}

TEST(MpiMessages, AWaitWaitsForTheLatestOfThoseItFound) {
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

TEST(MpiMessages, ATestThatFoundSomethingDidNotWait) {
  MpiTrace trace(2);
  irecv(trace, 1, 0, 1, 100, 105);
  trace.send(0, 1, 1, 400, 410);
  trace.call(1, "Testsome", 395, 415, {}, listOf({received(1, 0, 1)}));
  EXPECT_EQ(trace.picture()[2], "1.0#2 Testsome waited=0 own=20 with 0.0#1");
}

TEST(MpiMessages, MoreCompletionsThanARecordHoldsBelongToTheCallBefore) {
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

TEST(MpiMessages, MoreStartsThanARecordHoldsBelongToTheCallBefore) {
  MpiTrace trace(2);
  const auto to_1 = [](std::uint64_t seq) {
    return BegunRequest{
        .request = seq, .kind = BegunRequest::kSend, .comm = 1, .peer = 1, .seq = seq};
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

TEST(MpiMessages, ReceivesAreNumberedAsTheyWerePostedNotAsTheyWereFound) {
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

TEST(MpiMessages, ReceivesFromAnyoneThatCompleteOutOfOrderFindTheirMessages) {
  MpiTrace trace(3);
  // Rank 1's two messages and rank 2's one, to three receives: any, any, from 1.
  trace.send(1, 0, 1, 10, 11);
  trace.send(1, 0, 2, 40, 41);
  trace.send(2, 0, 1, 20, 21);
  irecv(trace, 0, kAny, 1, 100, 101);
  irecv(trace, 0, kAny, 2, 110, 111);
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

TEST(MpiMessages, PersistentRequestsAreAnewWhatTheyAreAtEachStart) {
  MpiTrace trace(2);
  const BegunRequest receive{.request = 1, .kind = BegunRequest::kReceive, .comm = 1, .peer = 0};
  BegunRequest send{.request = 9, .kind = BegunRequest::kSend, .comm = 1, .peer = 1, .seq = 1};
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

TEST(MpiMessages, ASendrecvIsBoth) {
  MpiTrace trace(3);  // a ring of three, rank 2 late by 300
  const auto exchange = [&](int rank, std::uint64_t start, std::uint64_t end) {
    trace.call(rank, "Sendrecv", start, end,
               {{Role::kComm, 1},
                {Role::kPeer, (rank + 1) % 3},
                {Role::kSize, 8},
                {Role::kSeq, 1},
                {Role::kSource, (rank + 2) % 3},
                {Role::kGot, 8},
                {Role::kSourceSeq, 1}});
  };
  exchange(0, 100, 420);
  exchange(1, 110, 130);
  exchange(2, 400, 420);
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 Sendrecv waited=300 own=20 late=2 with 1.0#1 2.0#1",
                                    "1.0#1 Sendrecv waited=0 own=20 with 2.0#1 0.0#1",
                                    "2.0#1 Sendrecv waited=0 own=20 with 0.0#1 1.0#1"}));
}

TEST(MpiMessages, AProbeNamesTheMessageThatAReceiveTakes) {
  MpiTrace trace(2);
  trace.call(1, "Probe", 100, 260,
             {{Role::kComm, 1}, {Role::kPeer, 0}, {Role::kGot, 8}, {Role::kSeq, 1}});
  trace.receive(1, 0, 1, 270, 280);
  trace.call(1, "Iprobe", 300, 305,
             {{Role::kComm, 1}, {Role::kPeer, 0}, {Role::kGot, 8}, {Role::kSeq, 2}});
  trace.receive(1, 0, 2, 310, 320);
  trace.send(0, 1, 1, 250, 251);
  trace.send(0, 1, 2, 255, 256);
  EXPECT_EQ(
      trace.picture(),
      (Lines{"0.0#1 Send waited=0 own=1 with 1.0#2", "0.0#2 Send waited=0 own=1 with 1.0#4",
             "1.0#1 Probe waited=150 own=10 late=0 with 0.0#1",
             "1.0#2 Recv waited=0 own=10 with 0.0#1", "1.0#3 Iprobe waited=0 own=5 with 0.0#2",
             "1.0#4 Recv waited=0 own=10 with 0.0#2"}));
  EXPECT_EQ(trace.counts.probes.matched(), 2U);
  EXPECT_EQ(trace.counts.receives.matched(), 2U);
}

TEST(MpiMessages, AMatchedProbeTakesTheMessageAndOthersFinishIt) {
  MpiTrace trace(2);
  const auto mprobe = [&](std::string_view call, int seq, int request, std::uint64_t start,
                          std::uint64_t end) {
    trace.call(1, call, start, end,
               {{Role::kComm, 1},
                {Role::kPeer, 0},
                {Role::kGot, 8},
                {Role::kSeq, seq},
                {Role::kRequest, request}});
  };
  mprobe("Mprobe", 1, 5, 100, 220);
  trace.call(1, "Mrecv", 230, 240, {{Role::kGot, 8}, {Role::kRequest, 5}});
  mprobe("Improbe", 2, 6, 300, 310);
  trace.call(1, "Imrecv", 320, 325, {{Role::kSize, 8}, {Role::kRequest, 6}});
  trace.call(1, "Wait", 330, 335, {}, listOf({received(6, 0, 2)}));
  trace.send(0, 1, 1, 200, 201);
  trace.send(0, 1, 2, 290, 291);
  EXPECT_EQ(
      trace.picture(),
      (Lines{"0.0#1 Send waited=0 own=1 with 1.0#1", "0.0#2 Send waited=0 own=1 with 1.0#3",
             "1.0#1 Mprobe waited=100 own=20 late=0 with 0.0#1",
             "1.0#2 Mrecv waited=0 own=10 with 0.0#1", "1.0#3 Improbe waited=0 own=10 with 0.0#2",
             "1.0#4 Imrecv waited=0 own=5 with 0.0#2", "1.0#5 Wait waited=0 own=5 with 0.0#2"}));
  EXPECT_EQ(trace.counts.receives.all, 2U);
}

TEST(MpiMessages, NobodyIsAtTheEndsOfAChain) {
  MpiTrace trace(2);
  trace.send(0, static_cast<int>(kProcNull), 0, 10, 11);
  irecv(trace, 1, kProcNull, 0, 10, 11);
  trace.receive(1, static_cast<int>(kProcNull), 0, 20, 21);
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 Send waited=0 own=1", "1.0#1 Irecv waited=0 own=1",
                                    "1.0#2 Recv waited=0 own=1"}));
  EXPECT_EQ(trace.counts.sends.unmatched(), 0U);
  EXPECT_EQ(trace.counts.receives.unmatched(), 0U);
}

TEST(MpiMessages, WhatIsMissingIsSaid) {
  MpiTrace trace(3, {2});
  trace.send(0, 2, 1, 10, 11);        // to a rank that was not traced
  trace.send(0, 1, 1, 20, 21);        // whose receive is not there
  trace.send(0, 1, 1, 30, 31, 0, 5);  // in a communicator that is not known
  trace.receive(1, 0, 7, 100, 101);   // whose send is not there
  irecv(trace, 1, 0, 3, 110, 111);    // never complete
  EXPECT_EQ(trace.picture(),
            (Lines{"0.0#1 Send [a rank that was not traced] waited=?",
                   "0.0#2 Send [the counterpart is not in its rank's log] waited=?",
                   "0.0#3 Send [the trace does not say which group or message it was] waited=?",
                   "1.0#1 Recv [the counterpart is not in its rank's log] waited=?",
                   "1.0#2 Irecv [never found complete] waited=0 own=1"}));
  EXPECT_EQ(trace.counts.sends.unmatched(), 3U);
  EXPECT_EQ(trace.counts.receives.unmatched(), 2U);
}

TEST(MpiMessages, ACancelledReceiveTakesNoMessage) {
  MpiTrace trace(2);
  irecv(trace, 1, kAny, 1, 100, 101);
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

TEST(MpiMessages, ThreadsOfARankShareTheOrderOfItsReceives) {
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

TEST(MpiMessages, ARequestMayBeFoundCompleteByAnotherThread) {
  MpiTrace trace(2);
  irecv(trace, {1, 0}, 0, 4, 100, 105);
  trace.call({1, 1}, "Wait", 110, 260, {}, listOf({received(4, 0, 1)}));
  trace.send(0, 1, 1, 250, 251);
  EXPECT_EQ(trace.picture(),
            (Lines{"0.0#1 Send waited=0 own=1 with 1.0#1", "1.0#1 Irecv waited=0 own=5 with 0.0#1",
                   "1.1#1 Wait waited=140 own=10 late=0 with 0.0#1"}));
}

TEST(MpiMessages, StreamsWithoutACounterAreCountedHere) {
  MpiTrace trace(2);
  for (int i = 0; i < 3; ++i) {
    const auto at = static_cast<std::uint64_t>(100 * i);
    trace.send(0, 1, 0, at + 10, at + 11, 77);
    trace.receive(1, 0, i + 1, at + 50, at + 51, 77);  // the other end had one
  }
  EXPECT_EQ(
      trace.picture(),
      (Lines{"0.0#1 Send waited=0 own=1 with 1.0#1", "0.0#2 Send waited=0 own=1 with 1.0#2",
             "0.0#3 Send waited=0 own=1 with 1.0#3", "1.0#1 Recv waited=0 own=1 with 0.0#1",
             "1.0#2 Recv waited=0 own=1 with 0.0#2", "1.0#3 Recv waited=0 own=1 with 0.0#3"}));
}

TEST(MpiMessages, AReceiveThatSeemsToEndBeforeItsSendHasWaitedAllTheSame) {
  MpiTrace trace(2);
  trace.onNode(1, "another");  // the clocks differ by a little
  trace.send(0, 1, 1, 500, 510);
  trace.receive(1, 0, 1, 100, 490);
  EXPECT_EQ(trace.picture()[1], "1.0#1 Recv waited=390 own=0 late=0 with 0.0#1");
}

TEST(MpiMessages, CallsBelowTheApplicationsAreNotInThePicture) {
  MpiTrace trace(2);
  trace.depth(1);
  trace.send(0, 1, 1, 10, 11);
  EXPECT_TRUE(trace.picture().empty());
}

TEST(MpiMessages, TheBoundGivesUpTheOldestAndSaysSo) {
  MpiTrace trace(2);
  for (int i = 1; i <= 40; ++i) {
    trace.send(0, 1, i, static_cast<std::uint64_t>(10 * i), static_cast<std::uint64_t>(10 * i + 1));
  }
  for (int i = 1; i <= 40; ++i) {
    const auto at = static_cast<std::uint64_t>(1000 + 10 * i);
    trace.receive(1, 0, i, at, at + 1);
  }
  const Lines lines = trace.picture({.most_open = 10});
  ASSERT_EQ(lines.size(), 80U);
  EXPECT_EQ(lines[0], "0.0#1 Send [given up since too much was open] waited=?");
  EXPECT_EQ(lines[39], "0.0#40 Send waited=0 own=1 with 1.0#40");
  EXPECT_EQ(lines[79], "1.0#40 Recv waited=0 own=1 with 0.0#40");
  EXPECT_GE(trace.counts.sends.matched(), 8U);
  EXPECT_EQ(trace.counts.sends.matched(), trace.counts.receives.matched());
}

}  // namespace
}  // namespace omnio
