#include "core/pattern/nest_finder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace omnio::pattern {
namespace {

struct Item {
  std::uint32_t kind = 0;
  std::vector<std::int64_t> numbers;
  bool operator==(const Item&) const = default;
};

class Folded {
 public:
  explicit Folded(std::uint64_t most_turns = UINT64_MAX)
      : finder_([this](const Nest& nest) { nests_.push_back(nest); }, most_turns) {}
  void add(std::uint32_t kind, std::vector<std::int64_t> numbers,
           std::vector<std::int64_t> measures = {}) {
    given.push_back({kind, numbers});
    finder_.add(kind, numbers, measures);
  }
  const std::vector<Nest>& finish() {
    finder_.finish();
    return nests_;
  }
  std::vector<Item> expanded() const {
    std::vector<Item> items;
    for (const Nest& nest : nests_) {
      forEachItem(nest, [&](std::uint32_t kind, std::span<const std::int64_t> numbers) {
        items.push_back({kind, {numbers.begin(), numbers.end()}});
      });
    }
    return items;
  }
  // Parts that are written down: items, and values of lists.
  static std::size_t sizeOf(const Nest& nest) {
    std::size_t size = 1;
    for (const auto& list : nest.lists) size += list.size();
    for (const Nest& part : nest.body) size += sizeOf(part);
    return size;
  }
  std::size_t size() const {
    std::size_t size = 0;
    for (const Nest& nest : nests_) size += sizeOf(nest);
    return size;
  }

  std::vector<Item> given;

 private:
  std::vector<Nest> nests_;
  NestFinder finder_;
};

TEST(NestFinder, FindsALoopWithStepsInEachNumber) {
  Folded folded;
  for (std::int64_t turn = 0; turn < 1000; ++turn) {
    folded.add(1, {turn, 4096 * turn});
    folded.add(2, {turn});
  }
  const auto& nests = folded.finish();
  ASSERT_EQ(nests.size(), 1U);
  EXPECT_EQ(nests[0].count, 1000U);
  ASSERT_EQ(nests[0].body.size(), 2U);
  EXPECT_EQ(nests[0].body[0].fields[1], (Field{.base = 0, .steps = {4096}}));
  EXPECT_EQ(itemsOf(nests[0]), 2000U);
  EXPECT_EQ(folded.expanded(), folded.given);
}

TEST(NestFinder, FindsNestsOfThreeLoops) {
  Folded folded;
  for (std::int64_t i = 0; i < 7; ++i) {
    folded.add(9, {i});
    for (std::int64_t j = 0; j < 5; ++j) {
      for (std::int64_t k = 0; k < 4; ++k) folded.add(1, {1000 * i + 100 * j + 7 * k});
      folded.add(2, {j});
    }
  }
  const auto& nests = folded.finish();
  ASSERT_EQ(nests.size(), 1U);
  EXPECT_EQ(folded.size(), 6U);  // three loops, three items
  EXPECT_EQ(folded.expanded(), folded.given);
}

TEST(NestFinder, ListsValuesOfRunsThatFollowNoRule) {
  Folded folded;
  std::mt19937_64 random(1);
  for (std::int64_t turn = 0; turn < 500; ++turn) {
    const auto offset = static_cast<std::int64_t>(random());
    folded.add(1, {turn, offset, offset});
    folded.add(2, {turn});
  }
  const auto& nests = folded.finish();
  ASSERT_EQ(nests.size(), 1U);
  EXPECT_EQ(nests[0].lists.size(), 1U);  // one list for the number that comes twice
  EXPECT_EQ(folded.expanded(), folded.given);
}

TEST(NestFinder, AListOfAnOuterLoopAndStepsOfAnInnerOne) {
  Folded folded;
  std::mt19937_64 random(2);
  for (int turn = 0; turn < 50; ++turn) {
    const auto begin = static_cast<std::int64_t>(random() >> 8);
    for (std::int64_t k = 0; k < 6; ++k) folded.add(1, {begin + 512 * k});
    folded.add(2, {0});
  }
  const auto& nests = folded.finish();
  ASSERT_EQ(nests.size(), 1U);
  EXPECT_EQ(folded.size(), 4U + 50U);
  EXPECT_EQ(folded.expanded(), folded.given);
}

// A time step of many calls that all differ, as codes with hundreds of variables have it.
TEST(NestFinder, FindsBodiesOfAsManyPartsAsTheyMayHave) {
  for (const std::size_t length : {std::size_t{300}, NestFinder::kMostInBody}) {
    Folded folded;
    for (std::int64_t step = 0; step < 40; ++step) {
      for (std::size_t i = 0; i < length; ++i) {
        const auto place = static_cast<std::int64_t>(i);
        folded.add(static_cast<std::uint32_t>(i % 7), {place * place, 1000000 * step + place * 8});
      }
    }
    const auto& nests = folded.finish();
    ASSERT_EQ(nests.size(), 1U);
    EXPECT_EQ(nests[0].count, 40U);
    EXPECT_EQ(nests[0].body.size(), length);
    EXPECT_EQ(folded.expanded(), folded.given);
  }
}

// The first measure of a loop is kept apart; all others are sums over the items of a place.
TEST(NestFinder, SumsMeasuresByPlace) {
  Folded folded;
  for (std::int64_t i = 0; i < 10; ++i) {
    for (std::int64_t k = 0; k < 20; ++k) folded.add(1, {k}, {k == 0 ? 1000 : 10, 3});
    folded.add(2, {0}, {500, 4});
  }
  const auto& nests = folded.finish();
  ASSERT_EQ(nests.size(), 1U);
  const Nest& outer = nests[0];
  EXPECT_EQ(outer.measures.sums, (std::vector<std::int64_t>{1000}));
  const Nest& inner = outer.body[0];
  EXPECT_EQ(inner.measures.sums, (std::vector<std::int64_t>{9000}));
  EXPECT_EQ(inner.measures.first_count, 9U);
  const Nest& item = inner.body[0];
  EXPECT_EQ(item.measures.sums, (std::vector<std::int64_t>{1900, 600}));
  EXPECT_EQ(item.measures.first_count, 190U);
  EXPECT_EQ(item.measures.count, 200U);
  EXPECT_EQ(outer.body[1].measures.sums, (std::vector<std::int64_t>{5000, 40}));
}

TEST(NestFinder, MemoryDoesNotGrowWithTurns) {
  std::size_t nests = 0;
  std::uint64_t items = 0;
  NestFinder finder([&](const Nest& nest) {
    ++nests;
    items += itemsOf(nest);
  });
  constexpr std::int64_t kTurns = 300'000;
  for (std::int64_t turn = 0; turn < kTurns; ++turn) {
    finder.add(1, std::vector<std::int64_t>{turn * 512});
    finder.add(2, std::vector<std::int64_t>{turn % 3});  // a pattern of three turns
  }
  finder.finish();
  EXPECT_EQ(nests, 1U);
  EXPECT_EQ(items, 2U * kTurns);
}

// Whatever comes in comes out again: random nests with random numbers, broken off anywhere.
std::uint64_t turnsOf(const Nest& nest) {
  std::uint64_t inner = 1;
  for (const Nest& part : nest.body) inner = std::max(inner, turnsOf(part));
  return nest.count * inner;
}

TEST(NestFinder, LoopsHaveAtMostAsManyTurnsAsTheyMay) {
  constexpr std::uint64_t kMost = 50;
  for (const bool follows_a_rule : {true, false}) {
    Folded folded(kMost);
    for (std::int64_t turn = 0; turn < 400; ++turn) {
      for (std::int64_t inner = 0; inner < 7; ++inner) {
        folded.add(1, {turn, inner, follows_a_rule ? turn : turn * turn % 17});
      }
      folded.add(2, {turn});
    }
    std::uint64_t most = 0;
    for (const Nest& nest : folded.finish()) most = std::max(most, turnsOf(nest));
    EXPECT_LE(most, kMost);
    EXPECT_GT(most, kMost / 2) << "loops are still found";
    EXPECT_EQ(folded.expanded(), folded.given);
  }
}

TEST(NestFinder, GivesBackAnySequence) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t most) { return random() % most; };
    Folded folded;
    struct Loop {
      std::uint64_t turns;
      std::vector<std::pair<int, std::int64_t>> parts;  // a kind, or -1 for a loop inside; a step
    };
    std::vector<Loop> loops(1 + below(3));
    for (Loop& loop : loops) {
      loop.turns = 1 + below(9);
      const std::uint64_t parts = 1 + below(4);
      for (std::uint64_t i = 0; i < parts; ++i) {
        const int kind = below(3) == 0 ? -1 : static_cast<int>(below(3));
        loop.parts.emplace_back(kind, static_cast<std::int64_t>(below(5)) * 100);
      }
    }
    const std::size_t most = 1 + below(4000);
    const auto run = [&](auto& self, std::size_t at, std::int64_t base) -> void {
      for (std::uint64_t turn = 0; turn < loops[at].turns && folded.given.size() < most; ++turn) {
        for (const auto& [kind, step] : loops[at].parts) {
          const std::int64_t number = base + step * static_cast<std::int64_t>(turn);
          if (kind < 0 && at + 1 < loops.size()) {
            self(self, at + 1, number);
          } else if (folded.given.size() < most) {
            const bool is_odd = below(20) == 0;
            std::vector<std::int64_t> numbers{is_odd ? static_cast<std::int64_t>(random())
                                                     : number};
            // As many numbers as the kind says.
            numbers.resize(1 + static_cast<std::size_t>(std::max(kind, 0)), 5);
            folded.add(static_cast<std::uint32_t>(std::max(kind, 0)), numbers);
          }
        }
      }
    };
    for (std::uint64_t i = 0; i < 1 + seed % 5; ++i)
      run(run, 0, static_cast<std::int64_t>(i) << 20);
    folded.finish();
    ASSERT_EQ(folded.expanded(), folded.given) << "seed " << seed;
  }
}

}  // namespace
}  // namespace omnio::pattern
