#include "replay/run/io_account.hpp"

#include <gtest/gtest.h>

namespace omnio::replay {
namespace {

using event::IoKind;
using event::IoTime;

TEST(IoAccount, ThreadsOfARankAreMergedByTime) {
  ThreadCalls one;
  ThreadCalls other;
  one.add({.start_ns = 0, .end_ns = 10, .phase = 1});
  one.add({.start_ns = 30, .end_ns = 40, .phase = 2});
  other.add({.start_ns = 5, .end_ns = 20, .phase = 1, .kind = IoKind::kSync});
  one.moved(1, false, 100, 10);
  one.moved(1, false, 0, 1);
  other.moved(1, true, 7, 3);
  const std::vector<PhaseIo> io = ioOf(4, {&one, &other}, {});
  ASSERT_EQ(io.size(), 2U);
  EXPECT_EQ(io[0].rank, 4U);
  EXPECT_EQ(io[0].phase, 1);
  EXPECT_EQ(io[0].time, (IoTime{.data_ns = 10, .sync_ns = 10}));
  EXPECT_EQ(io[0].moved.bytes[0], 100U);
  EXPECT_EQ(io[0].moved.bytes[1], 7U);
  EXPECT_EQ(io[0].moved.requests[0], 1U);  // one without bytes does not count
  EXPECT_EQ(io[0].moved.data_ns[0], 11);
  EXPECT_EQ(io[0].moved.calls, 2U);
  EXPECT_EQ(io[1].phase, 2);
  EXPECT_EQ(io[1].time, (IoTime{.data_ns = 10}));
}

TEST(IoAccount, UntilTheLastRankCameItWaited) {
  ThreadCalls calls;
  calls.add({.start_ns = 100, .end_ns = 160, .phase = 1, .meeting = 0});
  calls.add({.start_ns = 200, .end_ns = 260, .phase = 1, .meeting = 1});
  calls.add({.start_ns = 300, .end_ns = 310, .phase = 1, .meeting = 2});
  // The last came in the middle; this rank was the last; by a clock that is off, behind the end.
  const std::vector<PhaseIo> io = ioOf(0, {&calls}, {140, 200, 999});
  ASSERT_EQ(io.size(), 1U);
  EXPECT_EQ(io[0].time, (IoTime{.data_ns = 20 + 60, .waiting_ns = 40 + 10}));
}

TEST(IoAccount, KeepsOfARankWithOneThreadTheMeetingsAlone) {
  ThreadCalls calls(true, 1);
  calls.add({.start_ns = 0, .end_ns = 10, .phase = 1, .kind = IoKind::kMetadata});
  calls.add({.start_ns = 100, .end_ns = 160, .phase = 1, .meeting = 0});
  calls.add({.start_ns = 200, .end_ns = 260, .phase = 2, .meeting = 1});  // beyond its share
  EXPECT_EQ(calls.calls().size(), 1U);
  const std::vector<PhaseIo> io = ioOf(0, {&calls}, {140, 240});
  ASSERT_EQ(io.size(), 2U);
  EXPECT_EQ(io[0].time, (IoTime{.data_ns = 20, .metadata_ns = 10, .waiting_ns = 40}));
  EXPECT_EQ(io[1].time, (IoTime{.data_ns = 60}));
}

}  // namespace
}  // namespace omnio::replay
