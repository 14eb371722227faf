#include "trace/runtime/mpi/pointer_table.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace omnio::trace {
namespace {

struct Value {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
};

const void* object(std::uintptr_t number) {
  return reinterpret_cast<const void*>(0x10000 + 64 * number);
}

TEST(PointerTable, FindsWhatWasPutUntilItIsTaken) {
  PointerTable<Value, 3> table;
  EXPECT_EQ(table.find(object(1)), nullptr);
  ASSERT_TRUE(table.put(object(1), [](Value& place) { place = {.a = 1, .b = 2}; }));
  ASSERT_NE(table.find(object(1)), nullptr);
  EXPECT_EQ(table.find(object(1))->b, 2U);
  const auto taken = table.take(object(1));
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->a, 1U);
  EXPECT_FALSE(table.take(object(1)));
  EXPECT_EQ(table.find(object(1)), nullptr);
}

TEST(PointerTable, TakesOnlyWhatIsMeant) {
  PointerTable<Value, 3> table;
  ASSERT_TRUE(table.put(object(1), [](Value& place) { place = {.a = 1, .b = 2}; }));
  EXPECT_FALSE(table.takeIf(object(1), [](const Value& there) { return there.a == 7; }));
  ASSERT_NE(table.find(object(1)), nullptr);
  const auto taken = table.takeIf(object(1), [](const Value& there) { return there.a == 1; });
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->b, 2U);
  EXPECT_EQ(table.find(object(1)), nullptr);
}

TEST(PointerTable, HasNoBoundAndServesThreadsAtOnce) {
  constexpr std::uintptr_t kThreads = 4;
  constexpr std::uintptr_t kObjects = 500;
  constexpr int kTurns = 20;
  PointerTable<Value, 3> table;
  std::vector<int> wrong(kThreads);
  std::vector<std::thread> threads;
  for (std::uintptr_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&table, &wrong, t] {
      for (int turn = 0; turn < kTurns; ++turn) {
        for (std::uintptr_t i = 0; i < kObjects; ++i) {
          const std::uintptr_t number = i * kThreads + t;
          table.put(object(number), [=](Value& place) { place = {.a = number, .b = ~number}; });
        }
        for (std::uintptr_t i = 0; i < kObjects; ++i) {
          const std::uintptr_t number = i * kThreads + t;
          const Value* found = table.find(object(number));
          if (found == nullptr || found->a != number) ++wrong[t];
          const auto taken = table.take(object(number));
          if (!taken || taken->b != ~number) ++wrong[t];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(kThreads));
}

}  // namespace
}  // namespace omnio::trace
