// Receives in post order, whichever order they were found complete in.
#include "core/order/receive_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace omnio {
namespace {

using Final = order::ReceiveOrder::Final;
using Stream = order::ReceiveOrder::Stream;

constexpr std::int32_t kAnyPeer = -1;
constexpr Stream kFrom3{7, 3, 0};
constexpr Stream kFrom4{7, 4, 0};
constexpr Stream kFromAny{7, kAnyPeer, 0};

// "operation:seq operation:seq", and forgets them.
std::string taken(std::vector<Final>& final) {
  std::string text;
  for (const Final& f : final) {
    if (!text.empty()) text += ' ';
    text += std::to_string(f.operation) + ":" + std::to_string(f.seq);
  }
  final.clear();
  return text;
}

TEST(ReceiveOrder, WhatCompletesInOrderIsFinalAtOnce) {
  order::ReceiveOrder order;
  std::vector<Final> final;
  const auto first = order.post(kFrom3);
  const auto second = order.post(kFrom3);
  order.complete(1, first, kFrom3, kFrom3, 1, final);
  EXPECT_EQ(taken(final), "1:1");
  order.complete(2, second, kFrom3, kFrom3, 2, final);
  EXPECT_EQ(taken(final), "2:2");
  EXPECT_TRUE(order.isIdle());
}

TEST(ReceiveOrder, TheFirstPostedGetsTheFirstMessageAlsoWhenFoundLast) {
  order::ReceiveOrder order;
  std::vector<Final> final;
  const auto a = order.post(kFrom3);
  const auto b = order.post(kFrom3);
  const auto c = order.post(kFrom3);
  order.complete(3, c, kFrom3, kFrom3, 1, final);
  order.complete(2, b, kFrom3, kFrom3, 2, final);
  EXPECT_EQ(taken(final), "");
  order.complete(1, a, kFrom3, kFrom3, 3, final);
  EXPECT_EQ(taken(final), "1:1 2:2 3:3");
  EXPECT_TRUE(order.isIdle());
}

TEST(ReceiveOrder, OtherStreamsDoNotWait) {
  order::ReceiveOrder order;
  std::vector<Final> final;
  order.post(kFrom4);
  order.post({8, 3, 0});
  order.post({7, 3, 1});
  const auto a = order.post(kFrom3);
  order.complete(1, a, kFrom3, kFrom3, 1, final);
  EXPECT_EQ(taken(final), "1:1");
}

TEST(ReceiveOrder, AReceiveFromAnyoneThatIsOutstandingHoldsBackAllItCouldBe) {
  order::ReceiveOrder order;
  std::vector<Final> final;
  const auto any = order.post(kFromAny);
  const auto three = order.post(kFrom3);
  const auto four = order.post(kFrom4);
  const auto other_tag = order.post({7, 3, 9});
  order.complete(2, three, kFrom3, kFrom3, 1, final);
  order.complete(3, four, kFrom4, kFrom4, 1, final);
  order.complete(4, other_tag, {7, 3, 9}, {7, 3, 9}, 1, final);
  EXPECT_EQ(taken(final), "4:1");
  // It turns out to have been the second of rank 3's to complete, and the first to be posted.
  order.complete(1, any, kFromAny, kFrom3, 2, final);
  const std::string text = taken(final);
  EXPECT_TRUE(text == "1:1 2:2 3:1" || text == "3:1 1:1 2:2") << text;
  EXPECT_TRUE(order.isIdle());
}

TEST(ReceiveOrder, AnyTagHoldsBackAllTagsOfItsSource) {
  order::ReceiveOrder order;
  std::vector<Final> final;
  const Stream any_tag{7, 3, kAnyPeer};
  const auto any = order.post(any_tag);
  const auto five = order.post({7, 3, 5});
  const auto four = order.post(kFrom4);
  order.complete(2, five, {7, 3, 5}, {7, 3, 5}, 1, final);
  EXPECT_EQ(taken(final), "");
  order.complete(3, four, kFrom4, kFrom4, 1, final);
  EXPECT_EQ(taken(final), "3:1");
  order.complete(1, any, any_tag, {7, 3, 6}, 1, final);
  EXPECT_EQ(taken(final), "1:1 2:1");
}

TEST(ReceiveOrder, ADroppedReceiveHoldsBackNobody) {
  order::ReceiveOrder order;
  std::vector<Final> final;
  const auto any = order.post(kFromAny);
  const auto three = order.post(kFrom3);
  order.complete(2, three, kFrom3, kFrom3, 1, final);
  order.drop(any, kFromAny, final);
  EXPECT_EQ(taken(final), "2:1");
  EXPECT_TRUE(order.isIdle());
}

TEST(ReceiveOrder, AProbeNamesTheMessageBehindThoseOfEarlierReceives) {
  order::ReceiveOrder order;
  std::vector<Final> final;
  order.probe(9, kFrom3, 1, final);
  EXPECT_EQ(taken(final), "9:1");
  const auto a = order.post(kFrom3);
  // None has completed, so the tracer says 1; what the receive takes is not what was found.
  order.probe(8, kFrom3, 1, final);
  const auto b = order.post(kFrom3);
  order.complete(2, b, kFrom3, kFrom3, 1, final);
  EXPECT_EQ(taken(final), "");
  order.complete(1, a, kFrom3, kFrom3, 2, final);
  EXPECT_EQ(taken(final), "1:1 8:2 2:2");
}

TEST(ReceiveOrder, AProbeIsBehindReceivesOfBeforeItAlone) {
  order::ReceiveOrder order;
  std::vector<Final> final;
  const auto a = order.post(kFrom3);
  const auto b = order.post(kFrom3);
  const auto c = order.post(kFrom3);
  order.complete(2, b, kFrom3, kFrom3, 1, final);
  order.probe(9, kFrom3, 2, final);
  const auto d = order.post(kFrom3);
  order.complete(4, d, kFrom3, kFrom3, 2, final);
  order.probe(8, kFrom3, 3, final);
  order.complete(1, a, kFrom3, kFrom3, 3, final);
  EXPECT_EQ(taken(final), "1:1 2:2");
  order.complete(3, c, kFrom3, kFrom3, 4, final);
  EXPECT_EQ(taken(final), "3:3 9:4 4:4 8:5");
  EXPECT_TRUE(order.isIdle());
}

// Processor time of receives of one stream, posted at once and completed in that order, and of
// probes after them.
std::uint64_t looksFor(const std::vector<std::size_t>& completed) {
  const std::size_t probes = completed.size() / 10;
  order::ReceiveOrder order;
  std::vector<Final> final;
  std::vector<order::ReceiveOrder::PostNumber> posts(completed.size());
  for (order::ReceiveOrder::PostNumber& post : posts) post = order.post(kFrom3);
  for (std::size_t i = 0; i < probes; ++i) order.probe(0, kFrom3, 1, final);
  std::uint64_t number = 0;
  for (const std::size_t at : completed) {
    order.complete(static_cast<std::uint32_t>(at + 1), posts[at], kFrom3, kFrom3, ++number, final);
  }
  EXPECT_EQ(final.size(), completed.size() + probes);
  for (std::size_t i = 0; i < final.size(); ++i) {
    EXPECT_EQ(final[i].operation, i < completed.size() ? i + 1 : 0);
    EXPECT_EQ(final[i].seq, std::min(i, completed.size()) + 1);
  }
  return order.looks();
}

// One look for each completed receive, and one for each receive or probe that becomes final. 1.1 of
// them are completed or probed for each receive, so that looks at all others would be thousands.
TEST(ReceiveOrder, AnyOrderTakesTheSameFewLooksForEachReceive) {
  std::mt19937 random(1);
  for (const std::size_t count : {2000U, 80000U}) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    EXPECT_EQ(looksFor(order), count + count + count / 10);
  }
}

TEST(ReceiveOrder, NumbersThatBeginLateStayAscending) {
  order::ReceiveOrder order;
  std::vector<Final> final;
  const auto a = order.post(kFrom3);
  const auto b = order.post(kFrom3);
  order.complete(2, b, kFrom3, kFrom3, 41, final);
  order.complete(1, a, kFrom3, kFrom3, 42, final);
  EXPECT_EQ(taken(final), "1:41 2:42");
}

TEST(ReceiveOrder, WhereItIsCutOffAReceiveThatNobodyFoundCompleteHasTakenItsMessage) {
  order::ReceiveOrder order;
  std::vector<Final> final;
  order.post(kFrom3);
  const auto a = order.post(kFrom3);
  order.post(kFrom3);
  const auto b = order.post(kFrom3);
  order.complete(2, b, kFrom3, kFrom3, 1, final);
  order.complete(1, a, kFrom3, kFrom3, 2, final);
  EXPECT_EQ(taken(final), "");
  order.finish(true, final);
  EXPECT_EQ(taken(final), "1:2 2:4");
  EXPECT_TRUE(order.isIdle());
}

TEST(ReceiveOrder, AtTheEndOfARunNumbersAreAsCounted) {
  order::ReceiveOrder order;
  std::vector<Final> final;
  order.post(kFromAny);
  order.post(kFrom3);
  const auto a = order.post(kFrom3);
  order.complete(1, a, kFrom3, kFrom3, 14, final);
  EXPECT_EQ(taken(final), "");
  order.finish(false, final);
  EXPECT_EQ(taken(final), "1:14");
}

TEST(ReceiveOrder, WhereItIsCutOffNothingIsKnownBehindOneFromAnyoneThatNobodyFoundComplete) {
  order::ReceiveOrder order;
  std::vector<Final> final;
  const auto before = order.post(kFrom3);
  order.post(kFrom3);
  const auto between = order.post(kFrom3);
  order.post(kFromAny);
  const auto behind = order.post(kFrom3);
  order.complete(1, behind, kFrom3, kFrom3, 1, final);
  order.complete(2, between, kFrom3, kFrom3, 2, final);
  order.complete(3, before, kFrom3, kFrom3, 3, final);
  EXPECT_EQ(taken(final), "3:1");
  order.finish(true, final);
  EXPECT_EQ(taken(final), "2:3 1:0");
}

TEST(ReceiveOrder, WhatIsGivenUpLeavesTheOthersTheirNumbers) {
  order::ReceiveOrder order;
  std::vector<Final> final;
  const auto any = order.post(kFromAny);
  const auto a = order.post(kFrom3);
  const auto b = order.post(kFrom3);
  const auto c = order.post(kFrom3);
  order.complete(3, c, kFrom3, kFrom3, 1, final);
  order.complete(1, a, kFrom3, kFrom3, 2, final);
  order.giveUp(a, kFrom3, final);
  EXPECT_EQ(taken(final), "1:0");
  order.complete(2, b, kFrom3, kFrom3, 3, final);
  EXPECT_EQ(taken(final), "");
  // It got the first or second message of rank 3, as the one did that was given up.
  order.complete(4, any, kFromAny, kFrom3, 4, final);
  EXPECT_EQ(taken(final), "4:0 2:3 3:4");
  EXPECT_TRUE(order.isIdle());
  const auto later = order.post(kFrom3);
  order.complete(5, later, kFrom3, kFrom3, 5, final);
  EXPECT_EQ(taken(final), "5:5");
}

TEST(ReceiveOrder, OthersWaitForAForgottenReceive) {
  order::ReceiveOrder order;
  std::vector<Final> final;
  order.forget(order.post(kFrom3), kFrom3);
  const auto a = order.post(kFrom3);
  const auto four = order.post(kFrom4);
  order.complete(1, a, kFrom3, kFrom3, 1, final);
  order.complete(2, four, kFrom4, kFrom4, 1, final);
  EXPECT_EQ(taken(final), "2:1");
  order.finish(true, final);
  EXPECT_EQ(taken(final), "1:0");
}

}  // namespace
}  // namespace omnio
