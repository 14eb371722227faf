#include "replay/plan/pass_numbers.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace omnio::replay {
namespace {

TEST(PassNumbers, OfSingleEvents) {
  const PassNumbers one(17);
  EXPECT_EQ(one.passes(), 1);
  EXPECT_EQ(one.at(0), 17);
  EXPECT_EQ(one.find(17), 0);
  EXPECT_EQ(one.find(16), std::nullopt);
}

TEST(PassNumbers, EachIsFoundWhereItStands) {
  std::mt19937_64 random(1);
  constexpr int kTries = 500;
  for (int i = 0; i < kTries; ++i) {
    std::vector<std::pair<std::int64_t, std::int64_t>> loops;
    for (std::uint64_t depth = random() % 4; depth > 0; --depth) {
      loops.emplace_back(static_cast<std::int64_t>(random() % 41) - 20,
                         1 + static_cast<std::int64_t>(random() % 6));
    }
    const PassNumbers numbers(static_cast<std::int64_t>(random() % 100), loops,
                              PassNumbers::Search::kYes);
    ASSERT_TRUE(numbers.isSearchable());
    std::set<std::int64_t> all;
    bool is_even = true;
    for (std::int64_t pass = 0; pass < numbers.passes(); ++pass) {
      const std::int64_t number = numbers.at(pass);
      ASSERT_GE(number, numbers.least());
      ASSERT_LE(number, numbers.most());
      const auto found = numbers.find(number);
      ASSERT_TRUE(found);
      ASSERT_EQ(numbers.at(*found), number);
      if (all.insert(number).second && all.size() == static_cast<std::size_t>(pass) + 1) {
        ASSERT_EQ(*found, pass);
      }
      if (pass > 1 && number - numbers.at(pass - 1) != numbers.at(1) - numbers.at(0)) {
        is_even = false;
      }
    }
    for (std::int64_t number = numbers.least() - 1; number <= numbers.most() + 1; ++number) {
      ASSERT_EQ(numbers.find(number).has_value(), all.contains(number));
    }
    ASSERT_EQ(numbers.step().has_value(), is_even) << i;
    if (numbers.passes() > 1 && is_even) {
      ASSERT_EQ(numbers.step(), numbers.at(1) - numbers.at(0));
    }
  }
}

}  // namespace
}  // namespace omnio::replay
