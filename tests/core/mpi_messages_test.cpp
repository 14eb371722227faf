// Messages in the matched picture: what belongs together and who waited for whom, with the truth
// stated by hand.
#include <gtest/gtest.h>

#include "tests/core/mpi_requests_testing.hpp"

namespace omnio {
namespace {

using calls::kProcNull;
using calls::Role;
using test::done;
using test::irecv;
using test::listOf;
using test::MpiTrace;
using test::received;
using Lines = std::vector<std::string>;

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

TEST(MpiMessages, TwoSizesAreNotOneMessage) {
  MpiTrace trace(2);
  trace.call(0, "Send", 100, 110,
             {{Role::kComm, 1}, {Role::kPeer, 1}, {Role::kSize, 12}, {Role::kSeq, 1}});
  trace.call(1, "Recv", 50, 120,
             {{Role::kComm, 1}, {Role::kPeer, 0}, {Role::kGot, 8}, {Role::kSeq, 1}});
  const std::string kUnknown = " [the trace does not say which group or message it was] waited=?";
  EXPECT_EQ(trace.picture(), (Lines{"0.0#1 Send" + kUnknown, "1.0#1 Recv" + kUnknown}));
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

TEST(MpiMessages, ASendWaitsUntilAMessageThatAMatchedProbeTookIsFetched) {
  MpiTrace trace(2);
  const auto ssend = [&](int seq, std::uint64_t start, std::uint64_t end) {
    trace.call(0, "Ssend", start, end,
               {{Role::kComm, 1}, {Role::kPeer, 1}, {Role::kSize, 8}, {Role::kSeq, seq}});
  };
  const auto mprobe = [&](int seq, std::uint64_t start, std::uint64_t end) {
    trace.call(1, "Mprobe", start, end,
               {{Role::kComm, 1},
                {Role::kPeer, 0},
                {Role::kGot, 8},
                {Role::kSeq, seq},
                {Role::kRequest, 5}});
  };
  ssend(1, 100, 420);
  trace.send(0, 1, 2, 500, 720);
  ssend(3, 800, 880);  // of a library that waits for the probe alone
  mprobe(1, 150, 160);
  trace.call(1, "Mrecv", 400, 430, {{Role::kGot, 8}, {Role::kRequest, 5}});
  mprobe(2, 550, 560);
  trace.call(1, "Imrecv", 700, 701, {{Role::kSize, 8}, {Role::kRequest, 5}});
  trace.call(1, "Wait", 730, 740, {}, listOf({received(5, 0, 2)}));
  mprobe(3, 850, 860);  // never fetched
  EXPECT_EQ(
      trace.picture(),
      (Lines{"0.0#1 Ssend waited=300 own=20 late=1 with 1.0#1",
             "0.0#2 Send waited=200 own=20 late=1 with 1.0#3",
             "0.0#3 Ssend waited=50 own=30 late=1 with 1.0#6",
             "1.0#1 Mprobe waited=0 own=10 with 0.0#1", "1.0#2 Mrecv waited=0 own=30 with 0.0#1",
             "1.0#3 Mprobe waited=0 own=10 with 0.0#2", "1.0#4 Imrecv waited=0 own=1 with 0.0#2",
             "1.0#5 Wait waited=0 own=10 with 0.0#2", "1.0#6 Mprobe waited=0 own=10 with 0.0#3"}));
}

TEST(MpiMessages, ABufferedSendWaitsForNobody) {
  MpiTrace trace(2);
  const auto bsend = [&](std::string_view call, int seq, std::uint64_t start, std::uint64_t end) {
    trace.call(0, call, start, end,
               {{Role::kComm, 1}, {Role::kPeer, 1}, {Role::kSize, 8}, {Role::kSeq, seq}});
  };
  bsend("Bsend", 1, 100, 300);
  trace.receive(1, 0, 1, 200, 310);
  trace.call(
      0, "Ibsend", 400, 410,
      {{Role::kComm, 1}, {Role::kPeer, 1}, {Role::kSize, 8}, {Role::kSeq, 2}, {Role::kRequest, 7}});
  trace.call(0, "Wait", 420, 500, {}, listOf({done(7)}));
  trace.receive(1, 0, 2, 450, 510);
  const Lines lines = trace.picture();
  EXPECT_EQ(lines[0], "0.0#1 Bsend waited=0 own=200 with 1.0#1");
  EXPECT_EQ(lines[2], "0.0#3 Wait waited=0 own=80 with 1.0#2");
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
