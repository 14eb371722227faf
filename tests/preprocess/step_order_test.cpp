#include "preprocess/order/step_order.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace omnio::preprocess {
namespace {

class Numbers {
 public:
  // Of all lengths, small ones as often as large ones.
  std::uint64_t any() { return random_() >> (random_() % 64); }
  std::int64_t anySigned() { return static_cast<std::int64_t>(random_()) >> (random_() % 64); }
  std::uint64_t below(std::uint64_t most) { return random_() % most; }

  std::vector<Predecessor> predecessors(std::uint64_t most) {
    std::vector<Predecessor> after(below(most));
    for (Predecessor& before : after) {
      const std::uint64_t kind = below(4);
      before.step.thread = kind == 0   ? kBeginning
                           : kind == 1 ? kMeeting
                                       : static_cast<std::uint32_t>(below(kMeeting));
      before.step.sequence = any();
      before.work = {anySigned(), anySigned()};
      before.reason = static_cast<model::Reason>(below(4));
    }
    return after;
  }

 private:
  std::mt19937_64 random_{17};
};

void expectEqual(const std::vector<Predecessor>& found, const std::vector<Predecessor>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].step.thread, wanted[i].step.thread);
    EXPECT_EQ(found[i].step.sequence, wanted[i].step.sequence);
    EXPECT_EQ(found[i].work, wanted[i].work);
    EXPECT_EQ(found[i].reason, wanted[i].reason);
  }
}

TEST(StepOrders, GiveBackWhatWasAdded) {
  Numbers numbers;
  StepOrders orders;
  std::vector<StepOrder> added;
  std::uint64_t sequence = 0;
  for (int i = 0; i < 3000; ++i) {
    // One step in a hundred waits for more than fits into a block.
    const std::uint64_t most = i % 100 == 99 ? 4096 : 20;
    sequence += numbers.any() >> 16;
    added.push_back({.sequence = sequence,
                     .own = {numbers.anySigned(), numbers.anySigned()},
                     .after = numbers.predecessors(most)});
    orders.add(added.back());
  }
  StepOrders::Reader reader(orders);
  for (const StepOrder& wanted : added) {
    const StepOrder* const found = reader.next();
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->sequence, wanted.sequence);
    EXPECT_EQ(found->own, wanted.own);
    expectEqual(found->after, wanted.after);
  }
  EXPECT_EQ(reader.next(), nullptr);
  EXPECT_EQ(reader.next(), nullptr);
}

TEST(StepOrders, OfAThreadWithoutStepsHaveNone) {
  const StepOrders orders;
  EXPECT_EQ(StepOrders::Reader(orders).next(), nullptr);
}

TEST(Meetings, GiveBackWhatWasAddedInAnyOrder) {
  Numbers numbers;
  Meetings meetings;
  std::vector<Meeting> added;
  for (int i = 0; i < 1000; ++i) {
    added.push_back({.thread = static_cast<std::uint32_t>(numbers.below(4096)),
                     .behind = i == 0 ? -1 : static_cast<std::int64_t>(numbers.any() >> 1),
                     .at_ns = numbers.anySigned(),
                     .own = {numbers.anySigned(), std::numeric_limits<std::int64_t>::min()},
                     .after = numbers.predecessors(300)});
    meetings.add(added.back());
  }
  ASSERT_EQ(meetings.count(), added.size());
  for (std::uint64_t i = meetings.count(); i-- > 0;) {
    const Meeting found = meetings.at(i);
    EXPECT_EQ(meetings.threadOf(i), added[i].thread);
    EXPECT_EQ(meetings.behindOf(i), added[i].behind);
    EXPECT_EQ(found.thread, added[i].thread);
    EXPECT_EQ(found.behind, added[i].behind);
    EXPECT_EQ(found.at_ns, added[i].at_ns);
    EXPECT_EQ(found.own, added[i].own);
    expectEqual(found.after, added[i].after);
  }
}

}  // namespace
}  // namespace omnio::preprocess
