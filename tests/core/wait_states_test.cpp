#include "core/order/wait_states.hpp"

#include <gtest/gtest.h>

#include "core/calls/table.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::order {
namespace {

const calls::Row& barrier() { return calls::kTable[test::numberOf("MPI_Barrier")]; }

// Process `process` begins to wait for `late` at `start`, so long.
void wait(WaitStates& states, mpi::ProcessIndex process, mpi::ProcessIndex late, std::int64_t start,
          std::int64_t waited) {
  MatchedEvent event;
  event.event = {
      .row = &barrier(), .process = process, .start_ns = start, .end_ns = start + waited + 1};
  event.waited_ns = waited;
  event.late = late;
  states.take(event);
}

TEST(WaitStates, AreSummedUpByProcessAndCall) {
  WaitStates states;
  wait(states, 0, 1, 0, 10);
  wait(states, 0, 1, 100, 30);
  wait(states, 2, 1, 100, 5);
  wait(states, 1, 2, 100, 0);
  ASSERT_EQ(states.byProcess().size(), 3U);
  EXPECT_EQ(states.byProcess()[0].waits, 2U);
  EXPECT_EQ(states.byProcess()[0].waited_ns, 40);
  EXPECT_EQ(states.byProcess()[0].most_ns, 30);
  EXPECT_EQ(states.byProcess()[1].waits, 0U);
  ASSERT_EQ(states.byCall().size(), 1U);
  EXPECT_EQ(states.byCall().at(&barrier()).waited_ns, 45);
}

TEST(WaitStates, WhatIsNotKnownIsNoWait) {
  WaitStates states;
  MatchedEvent event;
  event.event = {.row = &barrier(), .process = 0};
  states.take(event);
  EXPECT_EQ(states.unmatched(), 1U);
  EXPECT_TRUE(states.byProcess().empty());
  EXPECT_TRUE(states.longestChain().waits.empty());
  EXPECT_EQ(states.longestChain().last(), mpi::kNoProcess);
}

TEST(WaitStates, TheChainGoesBackToTheOneThatWasLateByItself) {
  WaitStates states;
  wait(states, 0, 1, 0, 1000);    // the longest: 1 came at 1000
  wait(states, 1, 2, 200, 600);   // since it waited for 2 until 800
  wait(states, 1, 3, 100, 20);    // a short one explains little
  wait(states, 2, 3, 300, 400);   // which waited for 3 until 700
  wait(states, 3, 0, 2000, 900);  // later, of no matter
  const LatenessChain chain = states.longestChain();
  ASSERT_EQ(chain.waits.size(), 3U);
  EXPECT_EQ(chain.waits[0].process, 0U);
  EXPECT_EQ(chain.waits[1].process, 1U);
  EXPECT_EQ(chain.waits[2].process, 2U);
  EXPECT_EQ(chain.last(), 3U);
  EXPECT_EQ(chain.from_ns, 300);
  EXPECT_EQ(chain.to_ns, 700);
}

TEST(WaitStates, AWaitThatEndedAfterTheLateOneHadComeExplainsNothing) {
  WaitStates states;
  wait(states, 0, 1, 0, 1000);
  wait(states, 1, 2, 500, 800);
  EXPECT_EQ(states.longestChain().waits.size(), 1U);
  EXPECT_EQ(states.longestChain().last(), 1U);
}

TEST(WaitStates, OnlyThePartWithinTheWaitCounts) {
  WaitStates states;
  wait(states, 0, 1, 1000, 500);
  wait(states, 1, 2, 0, 499);  // over before the first began
  wait(states, 1, 3, 1100, 100);
  const LatenessChain chain = states.longestChain();
  ASSERT_EQ(chain.waits.size(), 2U);
  EXPECT_EQ(chain.last(), 3U);
}

TEST(WaitStates, TheLongestOfManyAreKept) {
  WaitStates states;
  for (int i = 0; i < 10000; ++i) wait(states, 0, 1, 100000LL * i, i == 7 ? 50000 : i % 100 + 1);
  EXPECT_EQ(states.byProcess()[0].waits, 10000U);
  EXPECT_EQ(states.longestChain().waits.front().start_ns, 700000);
}

TEST(WaitStates, ProcessesThatWaitForEachOtherEndTheChain) {
  WaitStates states;
  wait(states, 0, 1, 0, 1000);
  wait(states, 1, 0, 0, 1000);
  EXPECT_EQ(states.longestChain().waits.size(), 1U);
}

}  // namespace
}  // namespace omnio::order
